import { FetchRequest, JsonRpcProvider, Network } from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../common/development-keys.js';
import { AssayError } from '../common/errors.js';
import { endpointOf, failureText } from '../receipts/failure-text.js';

/**
 * A provider that fails at once when its node is gone, where ethers by itself would retry for ever in the background.
 * The caller ends it with `destroy()`.
 * @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH
 */
export async function connectChain(url: string, expectedChainId?: bigint): Promise<JsonRpcProvider> {
  const endpoint = endpointOf(url);
  // ethers would quote an address that it cannot use.
  if (!/^https?:/.test(endpoint)) {
    throw new AssayError('CHAIN_UNAVAILABLE', `no chain answers at ${endpoint}: expected an http or https address`);
  }
  let request: FetchRequest;
  let chainId: bigint;
  try {
    request = new FetchRequest(url);
    request.timeout = 15_000;
    const probe = request.clone();
    probe.body = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] };
    const response = await probe.send();
    response.assertOk();
    chainId = BigInt((response.bodyJson as { result: string }).result);
  } catch (error) {
    // Neither the address nor the error that holds it: there may be a key in the path, the query or the user part.
    throw new AssayError('CHAIN_UNAVAILABLE', `no chain answers at ${endpoint}: ${failureText(error)}`);
  }
  if (expectedChainId !== undefined && chainId !== expectedChainId) {
    throw new AssayError('CHAIN_MISMATCH', `${endpoint}: expected chain ${expectedChainId}, found chain ${chainId}`);
  }
  const provider = new JsonRpcProvider(request, Network.from(chainId), {
    staticNetwork: true,
    // ethers would answer a repeated question (the nonce, say) from memory for 250 ms.
    cacheTimeout: -1,
  });
  if (chainId === DEVELOPMENT_CHAIN_ID) provider.pollingInterval = 200;
  return provider;
}
