/** The compiler's thread: circom as WebAssembly over a folder of its own, which it cannot leave. */
import fs from 'node:fs';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bindings, CircomRunner } from 'circom2';
import { AssayError } from '../../common/errors.js';
import { serveTask } from '../run-apart.js';
import type { Simplification } from './types.js';

export interface CompileTask {
  readonly entry: string;
  readonly files: readonly (readonly [name: string, text: string])[];
  readonly simplification: Simplification;
}

export interface CompileResult {
  readonly r1cs: Uint8Array;
  readonly witnessProgram: Uint8Array;
  readonly symbols: string;
}

// Colours of terminals: escape, [, digits, m.
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

async function compile(task: CompileTask, progress: (text: string) => void): Promise<CompileResult> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-circom-'));
  try {
    for (const [name, text] of task.files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const output: string[] = [];
    const writeSync = (fd: number, bytes: Uint8Array, ...rest: [number?, number?, number?]): number => {
      if (fd > 2) return fs.writeSync(fd, bytes, ...rest);
      const [from = 0, length = bytes.length - from] = rest;
      const text = new TextDecoder().decode(bytes.slice(from, from + length));
      output.push(text);
      const line = text.replace(COLOURS, '').trim();
      if (line !== '') progress(line);
      return length;
    };
    const circom = new CircomRunner({
      args: [task.entry, '--r1cs', '--wasm', '--sym', `--O${task.simplification}`],
      env: {},
      preopens: { '.': folder },
      bindings: { ...bindings, isTTY: () => false, fs: { ...fs, writeSync } },
    });
    const base = task.entry.replace(/\.circom$/, '');
    const made = (name: string): Uint8Array => Uint8Array.from(readFileSync(join(folder, name)));
    try {
      await circom.execute(readFileSync(createRequire(import.meta.url).resolve('circom2/circom.wasm')));
      return {
        r1cs: made(`${base}.r1cs`),
        witnessProgram: made(`${base}_js/${base}.wasm`),
        symbols: new TextDecoder().decode(made(`${base}.sym`)),
      };
    } catch (cause) {
      const said = output.join('').replace(COLOURS, '').trim();
      throw new AssayError('CIRCUIT_BUILD_FAILED', `${task.entry} does not compile:\n${said || String(cause)}`, {
        mend: 'Correct the circuit at the place that the compiler names.',
        cause,
      });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

serveTask(compile);
