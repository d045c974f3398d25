import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageRoot } from '../../common/package-root.js';
import { Arithmetic } from './arithmetic.js';
import { openArithmetic } from './node-arithmetic.js';

/** The modules that a module loads, itself included, and what it imports from outside the project. */
function importsOf(file: URL, seen = new Set<string>(), outside = new Set<string>()): Set<string> {
  if (seen.has(file.href)) return outside;
  seen.add(file.href);
  // Type imports leave nothing behind.
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^import (?!type ).*? from '([^']+)';$/gms))
    if (name!.startsWith('.')) importsOf(new URL(name!.replace(/\.js$/, '.ts'), file), seen, outside);
    else outside.add(name!);
  return outside;
}

it('needs nothing of Node in a browser', () => {
  expect([...importsOf(new URL('./arithmetic.ts', import.meta.url))]).toEqual([]);
  // The walk sees what it looks for.
  expect(importsOf(new URL('./node-arithmetic.ts', import.meta.url))).toContain('node:fs');
});

it('opens from bytes', async () => {
  const code = readFileSync(new URL('dist/prover/wasm/single.wasm', packageRoot()));
  const { fr, threads } = await Arithmetic.open({ code, maximumBytes: 2 ** 20 });
  expect(threads).toBe(1);
  expect(fr.toBigInts(fr.add(fr.fromBigInts([2n]), fr.fromBigInts([3n])))).toEqual([5n]);
});

it.each([1, 2])('refuses a limit below what is always needed, %i threads', async (threads) => {
  await expect(openArithmetic({ threads, maximumBytes: 2 ** 16 })).rejects.toMatchObject({ code: 'PROVER_MEMORY' });
});
