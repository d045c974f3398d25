import { FetchRequest, JsonRpcProvider, Network } from 'ethers';
import { AssayError } from '../common/errors.js';
import { ANVIL_CHAIN_ID } from './anvil.js';

/**
 * A provider that fails at once when its node is gone, where ethers by itself would retry for ever in the background.
 * The caller ends it with `destroy()`.
 * @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH
 */
export async function connectChain(url: string, expectedChainId?: bigint): Promise<JsonRpcProvider> {
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
  } catch (cause) {
    throw new AssayError('CHAIN_UNAVAILABLE', `no chain answers at ${url}: ${(cause as Error).message}`, { cause });
  }
  if (expectedChainId !== undefined && chainId !== expectedChainId) {
    throw new AssayError('CHAIN_MISMATCH', `${url}: expected chain ${expectedChainId}, found chain ${chainId}`);
  }
  const provider = new JsonRpcProvider(request, Network.from(chainId), {
    staticNetwork: true,
    // ethers would answer a repeated question (the nonce, say) from memory for 250 ms.
    cacheTimeout: -1,
  });
  if (chainId === ANVIL_CHAIN_ID) provider.pollingInterval = 200;
  return provider;
}
