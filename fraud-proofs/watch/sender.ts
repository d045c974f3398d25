/**
 * Transactions of a watcher or an answering service. Nothing about them is stored: what a move is worth doing follows from
 * the chain alone, and a move that was sent twice is refused the second time.
 *
 *   1. Pre-flight: each call is simulated at the newest block. A refusal that says somebody made the move already counts
 *      as done; another one ends the move for this poll. Neither costs gas.
 *   2. Nonces are those behind the last *mined* transaction of the account. So a transaction that an earlier life left
 *      waiting at a low fee is replaced by this one, and there is never a gap.
 *   3. Unmined after `replaceAfterMs`: the same nonce again, an eighth dearer, with the same call; where the call would be
 *      refused by now, with an empty transfer to oneself, since later nonces wait behind it.
 *   4. Mined and refused, because another's came first in the block: wasted, and told so.
 */
import { isError, type Provider, type Signer, type TransactionReceipt } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { failureText } from '../../receipts/failure-text.js';
import type { Hex } from '../../receipts/types.js';
import { chainError } from '../../verifier-contracts/chain-error.js';
import { settlementErrors, type Call } from '../../verifier-contracts/contract-client.js';

export type Sent =
  | { readonly end: 'mined'; readonly hash: Hex; readonly gasUsed: bigint; readonly blockNumber: number }
  /** Somebody has made the move already. */
  | { readonly end: 'done'; readonly by: string }
  /** Mined, and refused there. */
  | { readonly end: 'wasted'; readonly hash: Hex; readonly gasUsed: bigint }
  /** The contract would refuse it. */
  | { readonly end: 'refused'; readonly reason: string }
  /** Not mined within the patience; the next poll sees what became of it. */
  | { readonly end: 'waiting'; readonly hash: Hex };

export interface SenderOptions {
  /** @default 30,000 */
  readonly replaceAfterMs?: number;
  /** How long a call of `send` waits at most. @default 120,000 */
  readonly patienceMs?: number;
  /** Dearest fee that is ever offered, in wei per gas; null: none is too dear. @default null */
  readonly maxFeeWei?: bigint | null;
}

/** Room above the estimate: what is mined in between may change what a call costs. */
const GAS_ROOM_PERCENT = 25n;
/** What a transaction may take (EIP-7825). */
const MOST_GAS = 1n << 24n;
const TRANSFER_GAS = 21_000n;
const LOOK_EVERY_MS = 100;
const DEFAULT_REPLACE_AFTER_MS = 30_000;
const DEFAULT_PATIENCE_MS = 120_000;

/** Refusals that say that what was to be done is done. */
const DONE = new Set(['DemandKnown', 'DemandAnswered', 'ClaimDead', 'OrderStateIs', 'NothingSettled']);

interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

interface InFlight {
  readonly call: Call;
  readonly nonce: number;
  readonly gasLimit: bigint;
  readonly hashes: Hex[];
  fees: Fees;
  sentAt: number;
}

export class Sender {
  readonly #options: Required<SenderOptions>;

  constructor(
    private readonly signer: Signer,
    readonly address: Hex,
    options: SenderOptions = {},
  ) {
    this.#options = {
      replaceAfterMs: options.replaceAfterMs ?? DEFAULT_REPLACE_AFTER_MS,
      patienceMs: options.patienceMs ?? DEFAULT_PATIENCE_MS,
      maxFeeWei: options.maxFeeWei ?? null,
    };
  }

  /** What the call would cost now, or why it would be refused; sends nothing. @throws AssayError CHAIN_UNAVAILABLE */
  async simulate(call: Call): Promise<{ readonly gas: bigint } | Extract<Sent, { end: 'done' | 'refused' }>> {
    return simulate(this.#provider, this.address, call);
  }

  /**
   * Sends calls that do not depend on one another, in this order, and waits for all of them.
   * @returns what became of each
   * @throws AssayError CHAIN_UNAVAILABLE, FEE_ABOVE_LIMIT
   */
  async send(calls: readonly Call[]): Promise<Sent[]> {
    const ends = new Map<number, Sent>();
    const flying = new Map<number, InFlight>();
    let nonce = await this.#ask('nonce', () => this.#provider.getTransactionCount(this.address, 'latest'));
    for (const [i, call] of calls.entries()) {
      const simulated = await this.simulate(call);
      if (!('gas' in simulated)) {
        ends.set(i, simulated);
        continue;
      }
      const gasLimit = most(simulated.gas);
      const flight: InFlight = { call, nonce: nonce++, gasLimit, hashes: [], fees: await this.#fees(), sentAt: 0 };
      await this.#broadcast(flight, call, gasLimit);
      flying.set(i, flight);
    }
    const until = Date.now() + this.#options.patienceMs;
    while (flying.size > 0) {
      for (const [i, flight] of flying) {
        const end = await this.#look(flight);
        if (end === null) continue;
        ends.set(i, end);
        flying.delete(i);
      }
      if (flying.size === 0) break;
      if (Date.now() > until) {
        for (const [i, { hashes }] of flying) ends.set(i, { end: 'waiting', hash: hashes.at(-1)! });
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    return calls.map((_, i) => ends.get(i)!);
  }

  get #provider(): Provider {
    return this.signer.provider!;
  }

  async #look(flight: InFlight): Promise<Sent | null> {
    for (const hash of flight.hashes) {
      const mined = await this.#ask('receipt', () => this.#provider.getTransactionReceipt(hash));
      if (mined !== null) return minedEnd(mined);
    }
    if (Date.now() - flight.sentAt < this.#options.replaceAfterMs) return null;
    const simulated = await this.simulate(flight.call);
    const now = await this.#fees();
    flight.fees = {
      maxFeePerGas: larger(now.maxFeePerGas, dearer(flight.fees.maxFeePerGas)),
      maxPriorityFeePerGas: larger(now.maxPriorityFeePerGas, dearer(flight.fees.maxPriorityFeePerGas)),
    };
    this.#checkFee(flight.fees);
    if ('gas' in simulated) await this.#broadcast(flight, flight.call, flight.gasLimit);
    else await this.#broadcast(flight, { to: this.address, data: '0x' }, TRANSFER_GAS);
    return null;
  }

  /** A node that holds a waiting transaction of this nonce takes another one only if it pays a tenth more. */
  async #broadcast(flight: InFlight, call: Call, gasLimit: bigint): Promise<void> {
    for (;;) {
      try {
        const { nonce, fees } = flight;
        const sent = await this.signer.sendTransaction({ ...call, nonce, gasLimit, type: 2, ...fees });
        flight.hashes.push(sent.hash as Hex);
        flight.sentAt = Date.now();
        return;
      } catch (error) {
        if (isError(error, 'NONCE_EXPIRED') && flight.hashes.length > 0) return;
        const tooCheap =
          isError(error, 'REPLACEMENT_UNDERPRICED') || /underpriced|fee too low/i.test(failureText(error));
        if (!tooCheap) throw chainError(error, settlementErrors, 'sending');
        const { maxFeePerGas, maxPriorityFeePerGas } = flight.fees;
        flight.fees = { maxFeePerGas: dearer(maxFeePerGas), maxPriorityFeePerGas: dearer(maxPriorityFeePerGas) };
        this.#checkFee(flight.fees);
      }
    }
  }

  async #fees(): Promise<Fees> {
    const { maxFeePerGas, maxPriorityFeePerGas } = await this.#ask('fees', () => this.#provider.getFeeData());
    if (maxFeePerGas === null || maxPriorityFeePerGas === null)
      throw new AssayError('CHAIN_MISMATCH', 'the chain has no base fee: one with EIP-1559 is needed');
    const fees = { maxFeePerGas, maxPriorityFeePerGas };
    this.#checkFee(fees);
    return fees;
  }

  #checkFee({ maxFeePerGas }: Fees): void {
    const limit = this.#options.maxFeeWei;
    if (limit === null || maxFeePerGas <= limit) return;
    throw new AssayError('FEE_ABOVE_LIMIT', `the chain asks ${maxFeePerGas} wei a gas, the limit is ${limit}`);
  }

  async #ask<T>(what: string, question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      throw chainError(error, settlementErrors, what);
    }
  }
}

/** Without a key: for whom the call would be sent is an address. @throws AssayError CHAIN_UNAVAILABLE */
export async function simulate(
  provider: Provider,
  from: Hex,
  call: Call,
): Promise<{ readonly gas: bigint } | Extract<Sent, { end: 'done' | 'refused' }>> {
  try {
    return { gas: await provider.estimateGas({ ...call, from }) };
  } catch (error) {
    const failure = chainError(error, settlementErrors, 'pre-flight');
    if (failure.code !== 'CHAIN_REVERTED') throw failure;
    const name = failure.meta['error'];
    if (typeof name === 'string' && DONE.has(name)) return { end: 'done', by: name };
    return { end: 'refused', reason: failure.message.replace(/^pre-flight: /, '') };
  }
}

function minedEnd({ hash, status, gasUsed, blockNumber, to, from }: TransactionReceipt): Sent {
  // A filler: the call was refused before it could be mined.
  if (to === from || status !== 1) return { end: 'wasted', hash: hash as Hex, gasUsed };
  return { end: 'mined', hash: hash as Hex, gasUsed, blockNumber };
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
const dearer = (fee: bigint): bigint => fee + fee / 8n + 1n;

function most(gas: bigint): bigint {
  const roomy = gas + (gas * GAS_ROOM_PERCENT) / 100n;
  return roomy < MOST_GAS ? roomy : MOST_GAS;
}
