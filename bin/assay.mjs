#!/usr/bin/env node
// The `assay` command. A published package carries dist/; a fresh checkout compiles it once, here.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('..', import.meta.url);
const entry = new URL('dist/cli/entry.js', root);
if (!existsSync(entry)) {
  process.stderr.write('assay: compiling once, about 20 s ...\n');
  const { resolve } = createRequire(import.meta.url);
  const own = (path) => fileURLToPath(new URL(path, root));
  // What `npm run build` does.
  for (const step of [
    [resolve('tsx/cli'), own('prover/wasm/build/build-wasm.ts')],
    [resolve('typescript/bin/tsc'), '-p', own('tsconfig.build.json')],
  ]) {
    const { status } = spawnSync(process.execPath, step, { stdio: ['ignore', 2, 2] });
    if (status !== 0) process.exit(4);
  }
}
await import(entry.href);
