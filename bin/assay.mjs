#!/usr/bin/env node
// The `assay` command. A published package carries dist/; a fresh checkout compiles it once, here.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = new URL('..', import.meta.url);
const entry = new URL('dist/cli/entry.js', root);
if (!existsSync(entry)) {
  process.stderr.write('assay: compiling once, about 15 s ...\n');
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const project = fileURLToPath(new URL('tsconfig.build.json', root));
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(4);
}
await import(entry.href);
