/** The output of an order as the answers to its demands have put it on chain: their calldata holds the elements. */
import { hexToBytes } from '@noble/hashes/utils.js';
import {
  CHUNK_ELEMENTS,
  decodeElements,
  elementWidth,
  inLayout,
  outputRoot,
  sizeOf,
  type IntegerGraph,
} from '../../graph/index.js';
import type { Receipt } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors } from '../../verifier-contracts/contract-client.js';
import { escrowInterface } from '../../verifier-contracts/escrow-client.js';
import type { Demand } from './demands.js';
import type { Deployment } from './open-deployment.js';

/**
 * @returns one array per output of the graph, row-major; null where an answer is missing, or was sent through another
 *   contract, or what was answered is not all of the receipt's output
 * @throws AssayError CHAIN_UNAVAILABLE
 */
export async function readAnswers(
  { provider, escrow }: Deployment,
  demands: readonly Demand[],
  graph: IntegerGraph,
  { items, outputRoot: expected }: Receipt,
): Promise<Int32Array[] | null> {
  const infos = graph.outputs.map((id) => graph.tensors[id]!);
  /** In committed order. */
  const committed = infos.map(({ shape }) => new Int32Array(items * sizeOf(shape)));
  for (const { range, answered } of demands) {
    if (answered === null) return null;
    const info = infos[range.tensor];
    const transaction = await provider.getTransaction(answered).catch((error: unknown) => {
      throw chainError(error, settlementErrors, `answer ${answered}`);
    });
    const call =
      transaction?.to?.toLowerCase() === escrow.address ? escrowInterface.parseTransaction(transaction) : null;
    if (call?.name !== 'answerOutput' || info === undefined) return null;
    const bytes = hexToBytes((call.args['opening'] as { elements: string }).elements.slice(2));
    // The answer to a demand for what does not exist.
    if (bytes.length === 0) continue;
    const values = decodeElements(bytes, elementWidth(info.range), info.range.lo < 0);
    committed[range.tensor]!.set(values, range.firstChunk * CHUNK_ELEMENTS);
  }
  const outputs = infos.map((info, i) => {
    const values = new Int32Array(committed[i]!.length);
    const places = inLayout(info, Int32Array.from(values.keys()), items);
    places.forEach((place, at) => (values[place] = committed[i]![at]!));
    return values;
  });
  // Whatever was overlooked: under the root lies the output, or it is not the output.
  return outputRoot(graph, outputs, items) === expected ? outputs : null;
}
