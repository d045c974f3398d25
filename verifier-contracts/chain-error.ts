import { isError, type ErrorDescription, type Interface } from 'ethers';
import { AssayError } from '../common/errors.js';
import { failureText } from '../receipts/failure-text.js';

/**
 * What ethers threw, as one of ours: a refusal with the contract's own error decoded, or an outage.
 * @param what was asked for, for the message
 */
export function chainError(error: unknown, abi: Interface, what: string): AssayError {
  if (error instanceof AssayError) return error;
  if (isError(error, 'CALL_EXCEPTION')) {
    const refusal = error.data === null || error.data === undefined ? null : decode(abi, error.data);
    return new AssayError('CHAIN_REVERTED', `${what}: ${refusal?.text ?? failureText(error)}`, {
      cause: error,
      meta: refusal === null ? {} : { error: refusal.name, args: refusal.args },
    });
  }
  if (isError(error, 'BAD_DATA')) {
    return new AssayError('CHAIN_MISMATCH', `${what}: the contract's answer cannot be read: ${failureText(error)}`, {
      cause: error,
    });
  }
  // Without its cause: that holds the node's whole address, the key in it included.
  return new AssayError('CHAIN_UNAVAILABLE', `${what}: ${failureText(error)}`);
}

/** Null where the data is no error of the contract: another one's, none at all (`0x`), or one that is cut short. */
function decode(abi: Interface, data: string): { name: string; args: string[]; text: string } | null {
  let parsed: ErrorDescription | null;
  try {
    parsed = abi.parseError(data);
  } catch {
    return null;
  }
  if (parsed === null) return null;
  const args = parsed.args.map(String);
  const named = args.map((arg, i) => `${parsed.fragment.inputs[i]!.name} ${arg}`).join(', ');
  return { name: parsed.name, args, text: named === '' ? parsed.name : `${parsed.name} (${named})` };
}
