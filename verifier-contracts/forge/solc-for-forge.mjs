#!/usr/bin/env node
/**
 * npm `solc` behind the command line that forge expects of a compiler: `--version`, and `--standard-json` from standard
 * input to standard output. Forge hands over every source as text, so nothing is read from disk here and the other
 * arguments (base path, allowed paths) have no use.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const args = process.argv.slice(2);

if (args.includes('--version')) {
  // The package's version is the compiler's. Asking the compiler itself would load 30 MB of WebAssembly.
  process.stdout.write(
    `solc, the solidity compiler commandline interface\nVersion: ${require('solc/package.json').version}\n`,
  );
} else if (args.includes('--standard-json')) {
  process.stdout.write(require('solc').compile(readFileSync(0, 'utf8')));
} else {
  process.stderr.write(`solc-for-forge: expected --version or --standard-json, found ${args.join(' ') || 'nothing'}\n`);
  process.exitCode = 1;
}
