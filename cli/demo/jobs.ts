/** The demo's jobs: MNIST digits that the model has not seen, as signed orders to a named executor. */
import type { Wallet } from 'ethers';
import { encodeInputs, inputRoot, type Bundle, type Samples } from '../../graph/index.js';
import type { OrderRequest, Pipeline } from '../../pipeline/index.js';
import { signOrder, type Hex, type JobOrder, type Lane } from '../../receipts/index.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { DEMO_PRICE, lower } from './deployment.js';

export interface DemoJob {
  readonly request: OrderRequest;
  readonly label: number;
}

const DELIVER_WITHIN_S = 3_600;

/**
 * Orders as the service's quote for one of them says, but to the executor that is named here.
 * @param nonce of the first order; the requester never uses one twice.
 * @param rootOf the commitment to the inputs that the order names
 */
export async function ordersFor(
  { pipeline, client, requester }: { pipeline: Pipeline; client: SettlementClient; requester: Wallet },
  bundle: Bundle,
  executor: Hex,
  digits: { readonly samples: Samples; readonly labels: Uint8Array },
  nonce: number,
  lane: Lane = 'sampled',
  rootOf: typeof inputRoot = inputRoot,
): Promise<DemoJob[]> {
  const modelDigest = bundle.digest as Hex;
  const deliverBy = (await client.escrow.clock()) + DELIVER_WITHIN_S;
  const { offer } = await pipeline.quote({ modelDigest, items: 1, lane, price: DEMO_PRICE, deliverBy });
  return Promise.all(
    digits.samples.map(async (sample, i) => {
      const { values, items } = encodeInputs(bundle, sample);
      const order: JobOrder = {
        requester: lower(requester.address),
        executor,
        modelDigest,
        inputRoot: rootOf(bundle.graph, values, items) as Hex,
        items,
        lane,
        policyHash: offer.policyHash,
        price: DEMO_PRICE,
        surcharge: offer.surcharge,
        outputBytes: offer.outputBytes,
        deliverBy,
        validUntil: deliverBy,
        nonce: BigInt(nonce + i),
      };
      const signature = await signOrder(order, client.domain, requester);
      return { request: { order, signature, inputs: values }, label: digits.labels[i]! };
    }),
  );
}
