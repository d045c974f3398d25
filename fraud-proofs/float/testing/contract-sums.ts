/** Test helper: many sums through FloatSum.sol. */
import type { Contract } from 'ethers';
import { getBytes } from 'ethers';
import { toHex } from '../../../graph/commitment/encoding.js';
import type { ClaimedSum } from './random-sums.js';

/** Gas of a view is bounded by the block's: sums of some 20,000 terms at once. */
const TERMS_PER_CALL = 20_000;

/** Whether the contract lets an honest machine have got each claim. */
export async function contractAllows(harness: Contract, claims: readonly ClaimedSum[]): Promise<boolean[]> {
  const verdicts: boolean[] = [];
  let batch: ClaimedSum[] = [];
  let terms = 0;
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const answer = (await harness.getFunction('allows')(encode(batch))) as string;
    verdicts.push(...Array.from(getBytes(answer), (byte) => byte === 1));
    batch = [];
    terms = 0;
  };
  for (const claim of claims) {
    batch.push(claim);
    terms += claim.sum.x.length + 10;
    if (terms > TERMS_PER_CALL) await flush();
  }
  await flush();
  return verdicts;
}

function encode(claims: readonly ClaimedSum[]): string {
  const words = claims.flatMap(({ sum, y }) => [
    sum.x.length,
    sum.roundings,
    sum.divisor,
    sum.single ? 1 : 0,
    y,
    ...sum.x,
    ...sum.w,
  ]);
  const bytes = new Uint8Array(4 * words.length);
  const view = new DataView(bytes.buffer);
  words.forEach((word, i) => view.setUint32(4 * i, word));
  return toHex(bytes);
}
