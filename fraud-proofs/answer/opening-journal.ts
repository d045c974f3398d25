/**
 * What an executor has said about the inside of a claim, by order and node: never two contents for one node.
 *
 * Segment and Sums are bound by no hash, so that the first signed opening that reaches the chain is what the executor
 * answers for. A second, other one would be no fault by itself; but which of two stands would then be chosen by whoever
 * relays them. Re-execution on another engine gives the same integers; a lying executor may well say two things, an
 * honest one never does, whatever crashes in between: the line is durable before the signature leaves.
 */
import { AssayError } from '../../common/errors.js';
import type { Hex } from '../../receipts/types.js';
import type { Keep } from '../watch/keep.js';

export interface SignedOpening {
  readonly contentHash: Hex;
  readonly signature: Hex;
}

export class OpeningJournal {
  constructor(private readonly keep: Keep) {}

  /**
   * @param sign called at most once for an order and node in the life of the journal, or again after a crash in between
   * @throws AssayError OPENING_CONTRADICTS where another content was signed for this node; STORE_FULL
   */
  async signOnce(orderHash: Hex, nodeId: Hex, contentHash: Hex, sign: () => Promise<Hex>): Promise<Hex> {
    const key = `opening/${orderHash}/${nodeId}`;
    const known = await this.keep.get(key);
    const text = known ?? (await this.keep.putOnce(key, JSON.stringify({ contentHash, signature: await sign() })));
    const first = JSON.parse(text) as SignedOpening;
    if (first.contentHash === contentHash) return first.signature;
    throw new AssayError(
      'OPENING_CONTRADICTS',
      `order ${orderHash}, node ${nodeId}: content ${first.contentHash} is signed already, refused to sign ${contentHash}`,
      { meta: { orderHash, nodeId, signed: first.contentHash, refused: contentHash } },
    );
  }
}
