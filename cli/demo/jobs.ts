/** The demo's jobs: MNIST digits that the model has not seen, as signed orders to a named executor. */
import type { Wallet } from 'ethers';
import { encodeInputs, inputRoot, type Bundle, type Samples } from '../../graph/index.js';
import type { OrderRequest } from '../../pipeline/index.js';
import { signOrder, type Hex, type JobOrder, type Lane } from '../../receipts/index.js';
import type { RollupClient } from '../../verifier-contracts/rollup-client.js';

export interface DemoJob {
  readonly request: OrderRequest;
  readonly label: number;
  readonly executor: Hex;
}

const DELIVER_WITHIN_S = 3_600;
const PRICE = 1_000n;

/** @param nonce of the first order; the requester never uses one twice. */
export async function ordersFor(
  client: RollupClient,
  requester: Wallet,
  bundle: Bundle,
  executor: Hex,
  digits: { readonly samples: Samples; readonly labels: Uint8Array },
  nonce: number,
  lane: Lane = 'sampled',
): Promise<DemoJob[]> {
  return Promise.all(
    digits.samples.map(async (sample, i) => {
      const { values, items } = encodeInputs(bundle, sample);
      const order: JobOrder = {
        requester: requester.address.toLowerCase() as Hex,
        modelDigest: bundle.digest as Hex,
        inputRoot: inputRoot(bundle.graph, values, items) as Hex,
        items,
        lane,
        policyHash: client.policyHash,
        price: PRICE,
        deliverBy: Math.floor(Date.now() / 1000) + DELIVER_WITHIN_S,
        nonce: BigInt(nonce + i),
      };
      const signature = await signOrder(order, client.domain, requester);
      return { request: { order, signature, inputs: values, executor }, label: digits.labels[i]!, executor };
    }),
  );
}
