/** What a verifier needs runs in any browser and holds no prover: every file that it imports, directly or not. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ENTRIES = ['./verify.ts', './mercury.ts', './hyperkzg.ts', '../srs/srs.ts', '../srs/development-srs.ts'];

/** Imports that remain at run time. */
function importsOf(file: URL): string[] {
  const statements = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\s(?!type)[^;]*?from '([^']+)';/gms);
  return [...statements].map(([, specifier]) => specifier!);
}

test('no WebAssembly, no prover, nothing of Node', () => {
  const files = new Map<string, URL>();
  const packages = new Set<string>();
  const visit = (file: URL) => {
    if (files.has(file.href)) return;
    files.set(file.href, file);
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('.')) visit(new URL(specifier.replace(/\.js$/, '.ts'), file));
      else packages.add(specifier);
    }
  };
  for (const entry of ENTRIES) visit(new URL(entry, import.meta.url));
  expect(files.size).toBeGreaterThan(10);
  for (const path of files.keys()) expect(path).not.toMatch(/wasm|backend|-prover|proof-writer/);
  for (const specifier of packages) expect(specifier).toMatch(/^@noble\//);
});
