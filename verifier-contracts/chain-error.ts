import { isError, type Interface } from 'ethers';
import { AssayError } from '../common/errors.js';

/**
 * What ethers threw, as one of ours: a refusal with the contract's own error decoded, or an outage.
 * @param what was asked for, for the message
 */
export function chainError(error: unknown, abi: Interface, what: string): AssayError {
  if (error instanceof AssayError) return error;
  if (isError(error, 'CALL_EXCEPTION')) {
    const refusal = error.data === null || error.data === undefined ? null : decode(abi, error.data);
    return new AssayError('CHAIN_REVERTED', `${what}: ${refusal?.text ?? error.shortMessage}`, {
      cause: error,
      meta: refusal === null ? {} : { error: refusal.name, args: refusal.args },
    });
  }
  if (isError(error, 'BAD_DATA')) {
    return new AssayError('CHAIN_MISMATCH', `${what}: the contract's answer cannot be read: ${error.shortMessage}`, {
      cause: error,
    });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new AssayError('CHAIN_UNAVAILABLE', `${what}: ${message}`, { cause: error });
}

function decode(abi: Interface, data: string): { name: string; args: string[]; text: string } | null {
  const parsed = abi.parseError(data);
  if (parsed === null) return null;
  const args = parsed.args.map(String);
  const named = args.map((arg, i) => `${parsed.fragment.inputs[i]!.name} ${arg}`).join(', ');
  return { name: parsed.name, args, text: named === '' ? parsed.name : `${parsed.name} (${named})` };
}
