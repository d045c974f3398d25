import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../common/package-root.js';
import { openArithmetic } from './node-arithmetic.js';
import { ThreadPool } from './thread-pool.js';

describe('a pool of the calling thread', () => {
  const calls: number[][] = [];
  const pool = new ThreadPool({ note: (...words) => calls.push(words), fail: () => Math.floor(Number(null!['x'])) });

  it('cuts a call into chunks and moves the arguments', () => {
    pool.run('note', 10, 4, [
      7,
      { base: 100, perPosition: 3 },
      { base: 200, perChunk: 5 },
      { base: 300, perThread: 9 },
    ]);
    expect(calls).toEqual([
      [7, 100, 200, 300, 4],
      [7, 112, 205, 300, 4],
      [7, 124, 210, 300, 2],
    ]);
  });

  it('calls nothing for no positions', () => {
    calls.length = 0;
    pool.run('note', 0, 4, []);
    expect(calls).toEqual([]);
  });

  it('names a kernel that failed or is not there', () => {
    expect(() => pool.run('fail', 1, 1, [])).toThrow(/kernel fail trapped/);
    expect(() => pool.run('none', 1, 1, [])).toThrow(/kernel none/);
  });
});

describe.each([1, 3])('%i threads', (threads) => {
  it('reports a trap and goes on', async () => {
    const arithmetic = await openArithmetic({ threads });
    const { fr } = arithmetic;
    const outside = { pointer: 2 ** 31, length: 20_000 };
    for (let i = 0; i < 5; i++) expect(() => fr.mul(outside, outside, outside)).toThrow(/frMul trapped/);
    expect(fr.toBigInts(fr.powers(3n, 4))).toEqual([1n, 3n, 9n, 27n]);
    await arithmetic.close();
  });

  it('works on alone after close', async () => {
    const arithmetic = await openArithmetic({ threads });
    const v = arithmetic.fr.powers(3n, 10_000);
    await arithmetic.close();
    expect(arithmetic.threads).toBe(1);
    expect(arithmetic.fr.at(arithmetic.fr.mul(v, v), 2)).toBe(81n);
    await arithmetic.close();
  });

  it('gives the same under many short calls', async () => {
    const arithmetic = await openArithmetic({ threads });
    const { fr } = arithmetic;
    const [a, b] = [fr.powers(3n, 8192), fr.powers(5n, 8192)];
    const expected = fr.dot(a, b);
    for (let i = 0; i < 2000; i++) if (fr.dot(a, b) !== expected) throw new Error(`call ${i} differs`);
    await arithmetic.close();
  });
});

it('lets a process end without close', () => {
  const module = JSON.stringify(new URL('dist/prover/wasm/node-arithmetic.js', packageRoot()).href);
  const script = `
    import { openArithmetic } from ${module};
    const { fr, threads } = await openArithmetic({ threads: 3 });
    console.log(threads, fr.dot(fr.powers(2n, 10000), fr.zeros(10000)));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { timeout: 20_000 });
  expect(String(output)).toBe('3 0n\n');
});
