import type { Log, Provider } from 'ethers';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import { LogReader } from './log-reader.js';

/** A chain of blocks, each with as many logs as it is told; `fork` gives its blocks other hashes from a height on. */
class Chain {
  blocks: { hash: Hex; logs: number }[] = [];
  asked: [number, number][] = [];
  /** Ranges longer than this are refused. */
  longest = Infinity;
  onLogs: () => void = () => undefined;

  grow(logs: readonly number[], branch = '0'): void {
    for (const count of logs)
      this.blocks.push({ hash: `0x${branch}${String(this.blocks.length).padStart(63, '0')}`, logs: count });
  }

  head(): { number: number; hash: Hex } {
    return { number: this.blocks.length - 1, hash: this.blocks.at(-1)!.hash };
  }

  reader(from = 0): LogReader {
    const provider = {
      getBlock: async (number: number) => this.blocks[number] ?? null,
      getLogs: async ({ fromBlock, toBlock }: { fromBlock: number; toBlock: number }) => {
        this.asked.push([fromBlock, toBlock]);
        if (toBlock - fromBlock + 1 > this.longest) throw new Error('too many blocks');
        const found = this.blocks
          .slice(fromBlock, toBlock + 1)
          .flatMap(({ hash, logs }, i) =>
            Array.from({ length: logs }, () => ({ blockNumber: fromBlock + i, blockHash: hash }) as unknown as Log),
          );
        this.onLogs();
        return found;
      },
    };
    return new LogReader(provider as unknown as Provider, `0x${'11'.repeat(20)}`, [], from);
  }
}

let chain: Chain;
beforeEach(() => (chain = new Chain()));
const hashes = (logs: readonly Log[]): string[] => logs.map(({ blockHash }) => blockHash);

describe('logs of a chain that moves', () => {
  it('reads on where it stopped', async () => {
    chain.grow([1, 0, 2]);
    const reader = chain.reader();
    expect((await reader.read(chain.head())).logs).toHaveLength(3);
    chain.grow([0, 1]);
    expect((await reader.read(chain.head())).logs).toHaveLength(4);
    expect(chain.asked).toEqual([
      [0, 2],
      [3, 4],
    ]);
    // The same head again costs no question.
    expect((await reader.read(chain.head())).logs).toHaveLength(4);
    expect(chain.asked).toHaveLength(2);
  });

  it.each([1, 2, 3, 5, 7])(
    'drops what a reorganisation of %d blocks took out, and reads the rest anew',
    async (depth) => {
      const reader = chain.reader();
      for (let i = 0; i < 10; i++) {
        chain.grow([1]);
        await reader.read(chain.head());
      }
      chain.blocks = chain.blocks.slice(0, -depth);
      chain.grow(
        Array.from({ length: depth + 1 }, () => 2),
        'f',
      );
      const { logs, rewoundTo } = await reader.read(chain.head());
      expect(rewoundTo).toBe(9 - depth);
      expect(hashes(logs)).toEqual(
        chain.blocks.flatMap(({ hash, logs: count }) => Array.from({ length: count }, () => hash)),
      );
    },
  );

  it('drops what went when the chain became shorter', async () => {
    const reader = chain.reader();
    for (let i = 0; i < 6; i++) {
      chain.grow([1]);
      await reader.read(chain.head());
    }
    chain.blocks = chain.blocks.slice(0, 3);
    expect((await reader.read(chain.head())).logs).toHaveLength(3);
  });

  it('halves a range that the node refuses, and gives up at a single block', async () => {
    chain.grow([1, 1, 1, 1, 1]);
    chain.longest = 2;
    expect((await chain.reader().read(chain.head())).logs).toHaveLength(5);
    chain.longest = 0;
    await expect(chain.reader().read(chain.head())).rejects.toMatchObject({ code: 'CHAIN_UNAVAILABLE' });
  });

  it('counts nothing of a read during which the chain moved', async () => {
    chain.grow([1, 1]);
    const reader = chain.reader();
    const head = chain.head();
    chain.onLogs = () => {
      chain.blocks = chain.blocks.slice(0, 1);
      chain.grow([3], 'f');
    };
    await expect(reader.read(head)).rejects.toMatchObject({ code: 'CHAIN_MOVED' });
    chain.onLogs = () => undefined;
    expect(hashes((await reader.read(chain.head())).logs)).toEqual([
      chain.blocks[0]!.hash,
      ...Array<Hex>(3).fill(chain.blocks[1]!.hash),
    ]);
  });
});
