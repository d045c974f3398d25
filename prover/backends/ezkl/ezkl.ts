/**
 * EZKL (Halo2 over KZG) through its Python package, one process that runs steps in turn. It is no part of Assay's own
 * proofs: it arithmetises the float ONNX file in its own fixed point, so its answers differ from the integer graph's, and
 * its proofs are checked by its own verifier.
 *
 * Steps: calibrate -> srs -> setup, once per model; witness -> prove -> verify, once per input (driver.py).
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../../../common/errors.js';
import { packageRoot } from '../../../common/package-root.js';

/** The version that the environment is made with; another one's proofs and keys do not fit. */
export const EZKL_VERSION = '23.0.5';

/** Where `npm run ezkl:install` puts it. */
export const EZKL_ENVIRONMENT = fileURLToPath(new URL('.cache/ezkl/venv/', packageRoot()));

const DRIVER = fileURLToPath(new URL('prover/backends/ezkl/driver.py', packageRoot()));
const LAST_LINES = 20;

/** The two ways in which EZKL chooses its fixed point. */
export type EzklTarget = 'resources' | 'accuracy';

/** What every step answers. */
export interface StepCost {
  /** Of the step alone. */
  readonly ms: number;
  /** Of all its threads. */
  readonly cpuMs: number;
  /** The most that the process has held since it began. */
  readonly peakRssBytes: number;
}

interface Steps {
  version: { asked: object; answer: { readonly version: string } };
  calibrate: {
    asked: {
      model: string;
      data: string;
      target: EzklTarget;
      settings: string;
      circuit: string;
      /** Symbolic dimensions, which become 1. */
      dimensions: readonly string[];
      maxLogrows: number;
    };
    answer: { readonly logrows: number; readonly inputScale: number };
  };
  srs: { asked: { srs: string; logrows: number }; answer: object };
  setup: {
    asked: { circuit: string; vk: string; pk: string; srs: string };
    answer: { readonly pkBytes: number; readonly vkBytes: number };
  };
  witness: {
    asked: { data: string; circuit: string; witness: string };
    answer: { readonly outputs: readonly (readonly number[])[] };
  };
  prove: {
    asked: { witness: string; circuit: string; pk: string; srs: string; proof: string };
    answer: { readonly proofBytes: number; readonly instances: number };
  };
  verify: {
    asked: { proof: string; settings: string; vk: string; srs: string };
    answer: { readonly valid: boolean; readonly reason?: string };
  };
  contract: { asked: { vk: string; settings: string; srs: string; solidity: string; abi: string }; answer: object };
  calldata: { asked: { proof: string; calldata: string }; answer: object };
}

/** The Python that has EZKL, or null: `ASSAY_EZKL_PYTHON`, else the environment of `npm run ezkl:install`. */
export function ezklPython(environment: NodeJS.ProcessEnv = process.env): string | null {
  const python = environment['ASSAY_EZKL_PYTHON'] ?? `${EZKL_ENVIRONMENT}bin/python`;
  return existsSync(python) ? python : null;
}

export class Ezkl {
  private readonly waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  private readonly said: string[] = [];

  private constructor(private readonly process: ChildProcessByStdio<Writable, Readable, Readable>) {
    createInterface({ input: process.stdout }).on('line', (line) => this.waiting.shift()?.resolve(line));
    createInterface({ input: process.stderr }).on('line', (line) => {
      this.said.push(line);
      if (this.said.length > LAST_LINES) this.said.shift();
    });
    const failed = (what: string): void => {
      for (const { reject } of this.waiting.splice(0))
        reject(new AssayError('PROVER_FAILED', `EZKL ${what}: ${this.said.join('\n')}`));
    };
    process.once('error', (error) => failed(`did not start (${error.message})`));
    process.once('close', (code, signal) => failed(`ended with ${signal ?? code}`));
    // A process that has ended is reported by its close.
    process.stdin.on('error', () => undefined);
  }

  /**
   * @param threads that EZKL shares its work among.
   * @throws AssayError PROVER_UNAVAILABLE where EZKL is not installed, or in another version.
   */
  static async open(threads: number): Promise<Ezkl> {
    const python = ezklPython();
    if (python === null)
      throw new AssayError('PROVER_UNAVAILABLE', `EZKL is not installed: there is no ${EZKL_ENVIRONMENT}bin/python`);
    const ezkl = new Ezkl(
      spawn(python, [DRIVER], {
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...process.env, RAYON_NUM_THREADS: String(threads), RUST_LOG: 'error' },
      }),
    );
    const { version } = await ezkl.step('version', {});
    if (version === EZKL_VERSION) return ezkl;
    await ezkl.close();
    throw new AssayError('PROVER_UNAVAILABLE', `${python} has EZKL ${version}, expected ${EZKL_VERSION}`);
  }

  /** @throws AssayError PROVER_FAILED with what EZKL said. */
  async step<K extends keyof Steps>(name: K, asked: Steps[K]['asked']): Promise<Steps[K]['answer'] & StepCost> {
    const line = await new Promise<string>((resolve, reject) => {
      if (this.process.exitCode !== null || this.process.signalCode !== null)
        reject(new AssayError('PROVER_FAILED', `EZKL has ended: ${this.said.join('\n')}`));
      this.waiting.push({ resolve, reject });
      this.process.stdin.write(`${JSON.stringify({ step: name, ...asked })}\n`);
    });
    const answer = JSON.parse(line) as (Steps[K]['answer'] & StepCost) | { error: string };
    if ('error' in answer) throw new AssayError('PROVER_FAILED', `EZKL, step ${name}: ${answer.error}`);
    return answer;
  }

  /** Ends the process. */
  close(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      this.process.once('close', () => resolve());
      this.process.stdin.end();
    });
  }
}
