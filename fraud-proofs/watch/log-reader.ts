/**
 * The logs of one contract, read on from poll to poll, on a chain that may reorganise.
 *
 *   1. Every head that was read is kept as (number, hash). Before reading on, heads that the chain no longer has are
 *      dropped with all logs above the last one that it still has.
 *   2. Logs are read up to the new head in ranges; a range that the node refuses is halved.
 *   3. If the chain has moved away from the head meanwhile, nothing of the read counts.
 */
import type { Log, Provider } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { failureText } from '../../receipts/failure-text.js';
import type { Hex } from '../../receipts/types.js';

/** A block as one poll sees it. */
export interface Head {
  readonly number: number;
  readonly hash: Hex;
}

/** Blocks that one question covers; most nodes answer 10,000, some fewer. */
const RANGE = 5_000;
/** Heads to fall back to; behind them everything is read again. */
const KEPT_HEADS = 256;

export class LogReader {
  #logs: Log[] = [];
  #heads: Head[] = [];

  /** @param fromBlock first block to look at */
  constructor(
    private readonly provider: Provider,
    private readonly address: Hex,
    private readonly topics: readonly (string | null)[],
    private readonly fromBlock: number,
  ) {}

  /**
   * @returns all logs up to the head, in order; `rewoundTo`: the last block whose logs a reorganisation left, null where
   * there was none
   * @throws AssayError CHAIN_MOVED, CHAIN_UNAVAILABLE
   */
  async read(head: Head): Promise<{ readonly logs: readonly Log[]; readonly rewoundTo: number | null }> {
    const rewoundTo = await this.#rewind(head);
    const from = (this.#heads.at(-1)?.number ?? this.fromBlock - 1) + 1;
    const found: Log[] = [];
    for (let at = from; at <= head.number; at += RANGE)
      found.push(...(await this.#range(at, Math.min(at + RANGE - 1, head.number))));
    await requireHead(this.provider, head);
    this.#logs.push(...found);
    if (this.#heads.at(-1)?.hash !== head.hash) this.#heads.push(head);
    if (this.#heads.length > KEPT_HEADS) this.#heads.shift();
    return { logs: this.#logs, rewoundTo };
  }

  async #rewind(head: Head): Promise<number | null> {
    let rewound = false;
    for (let last = this.#heads.at(-1); last !== undefined; last = this.#heads.at(-1)) {
      if (last.number <= head.number && (await hashOf(this.provider, last.number)) === last.hash) break;
      this.#heads.pop();
      rewound = true;
    }
    if (!rewound) return null;
    const kept = this.#heads.at(-1)?.number ?? this.fromBlock - 1;
    this.#logs = this.#logs.filter(({ blockNumber }) => blockNumber <= kept);
    return kept;
  }

  async #range(from: number, to: number): Promise<Log[]> {
    try {
      return await this.provider.getLogs({
        address: this.address,
        topics: [...this.topics],
        fromBlock: from,
        toBlock: to,
      });
    } catch (error) {
      if (from === to) throw unavailable(`logs of block ${from}`, error);
      const middle = Math.floor((from + to) / 2);
      return [...(await this.#range(from, middle)), ...(await this.#range(middle + 1, to))];
    }
  }
}

/** @throws AssayError CHAIN_MOVED where the chain has another block there by now; CHAIN_UNAVAILABLE */
export async function requireHead(provider: Provider, head: Head): Promise<void> {
  if ((await hashOf(provider, head.number)) === head.hash) return;
  throw new AssayError('CHAIN_MOVED', `block ${head.number} is no longer ${head.hash}`);
}

/** Null where there is no such block. @throws AssayError CHAIN_UNAVAILABLE */
export async function hashOf(provider: Provider, number: number): Promise<Hex | null> {
  try {
    return ((await provider.getBlock(number))?.hash ?? null) as Hex | null;
  } catch (error) {
    throw unavailable(`block ${number}`, error);
  }
}

const unavailable = (what: string, error: unknown): AssayError =>
  error instanceof AssayError ? error : new AssayError('CHAIN_UNAVAILABLE', `${what}: ${failureText(error)}`);
