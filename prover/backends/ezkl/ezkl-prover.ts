/** Proves answers of one ONNX model with EZKL, in a folder of its own: keys once, then a proof per input. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readOnnx, type Samples } from '../../../graph/index.js';
import { EZKL_PROOF_SYSTEM, ezklSrsFile, type EzklKeyFile, type EzklProofFile } from './ezkl-file.js';
import type { Ezkl, EzklTarget, StepCost } from './ezkl.js';

/** Beyond it a proving key has 9 GB. */
const MOST_LOGROWS = 21;

export interface EzklSetup {
  readonly logrows: number;
  readonly inputScale: number;
  readonly calibrate: StepCost;
  /** Making of the reference string; null where it was there. */
  readonly srs: StepCost | null;
  readonly setup: StepCost;
  readonly pkBytes: number;
  readonly vkBytes: number;
}

export interface EzklProof {
  /** As EZKL's own file, which holds the public inputs and outputs. */
  readonly file: Uint8Array;
  readonly proofBytes: number;
  readonly outputs: readonly (readonly number[])[];
  readonly witness: StepCost;
  readonly prove: StepCost;
}

export class EzklProver {
  private readonly model: Uint8Array;

  /** @param folder to work in; holds a proving key of 4 kB per row while open. */
  constructor(
    private readonly ezkl: Ezkl,
    private readonly folder: string,
    model: Uint8Array,
    private readonly target: EzklTarget,
  ) {
    mkdirSync(folder, { recursive: true });
    this.model = model;
    writeFileSync(this.at('model.onnx'), model);
  }

  /** Fixed point and size, as EZKL chooses them on the samples. */
  async calibrate(samples: Samples): Promise<Pick<EzklSetup, 'logrows' | 'inputScale' | 'calibrate'>> {
    const { inputs } = readOnnx(this.model, 'model.onnx');
    const sides = inputs.flatMap(({ shape }) => shape.filter((side) => typeof side === 'string'));
    this.write('calibration.json', samples);
    const { logrows, inputScale, ...calibrate } = await this.ezkl.step('calibrate', {
      model: this.at('model.onnx'),
      data: this.at('calibration.json'),
      target: this.target,
      settings: this.at('settings.json'),
      circuit: this.at('circuit'),
      dimensions: [...new Set(sides)],
      maxLogrows: MOST_LOGROWS,
    });
    return { logrows, inputScale, calibrate };
  }

  /** Settings as EZKL wrote them, without time and order, which differ from run to run. */
  settings(): string {
    const settings = JSON.parse(readFileSync(this.at('settings.json'), 'utf8')) as Record<string, unknown>;
    const unordered = ['required_range_checks', 'required_lookups'].map((name) =>
      (settings[name] as unknown[]).map((entry) => JSON.stringify(entry)).sort(),
    );
    return JSON.stringify([settings['run_args'], settings['num_rows'], unordered]);
  }

  /** Reference string and keys. @throws AssayError PROVER_FAILED. */
  async setUp(logrows: number): Promise<Pick<EzklSetup, 'srs' | 'setup' | 'pkBytes' | 'vkBytes'>> {
    const srs = await this.makeSrs(logrows);
    const { pkBytes, vkBytes, ...setup } = await this.ezkl.step('setup', {
      circuit: this.at('circuit'),
      vk: this.at('vk'),
      pk: this.at('pk'),
      srs: ezklSrsFile(logrows),
    });
    return { srs, setup, pkBytes, vkBytes };
  }

  /** EZKL's answer, without a proof. */
  async answer(sample: Samples[number]): Promise<{ outputs: readonly (readonly number[])[]; cost: StepCost }> {
    this.write('input.json', [sample]);
    const { outputs, ...cost } = await this.ezkl.step('witness', {
      data: this.at('input.json'),
      circuit: this.at('circuit'),
      witness: this.at('witness.json'),
    });
    return { outputs, cost };
  }

  async prove(sample: Samples[number], logrows: number): Promise<EzklProof> {
    const { outputs, cost } = await this.answer(sample);
    const { proofBytes, ms, cpuMs, peakRssBytes } = await this.ezkl.step('prove', {
      witness: this.at('witness.json'),
      circuit: this.at('circuit'),
      pk: this.at('pk'),
      srs: ezklSrsFile(logrows),
      proof: this.at('proof.json'),
    });
    return {
      file: readFileSync(this.at('proof.json')),
      proofBytes,
      outputs,
      witness: cost,
      prove: { ms, cpuMs, peakRssBytes },
    };
  }

  /** EZKL's own verifier, with the key that was made here. */
  async verify(file: Uint8Array, logrows: number): Promise<StepCost & { valid: boolean; reason?: string }> {
    writeFileSync(this.at('given.json'), file);
    return this.ezkl.step('verify', {
      proof: this.at('given.json'),
      settings: this.at('settings.json'),
      vk: this.at('vk'),
      srs: ezklSrsFile(logrows),
    });
  }

  /** Source of the contract that checks proofs of this model, and the call for a proof. */
  async contract(file: Uint8Array, logrows: number): Promise<{ solidity: string; calldata: Uint8Array }> {
    writeFileSync(this.at('given.json'), file);
    const solidity = this.at('verifier.sol');
    await this.ezkl.step('contract', {
      vk: this.at('vk'),
      settings: this.at('settings.json'),
      srs: ezklSrsFile(logrows),
      solidity,
      abi: this.at('verifier.abi'),
    });
    await this.ezkl.step('calldata', { proof: this.at('given.json'), calldata: this.at('calldata') });
    return { solidity: readFileSync(solidity, 'utf8'), calldata: readFileSync(this.at('calldata')) };
  }

  /** The proof as a file that names its system. */
  proofFile({ file }: EzklProof): EzklProofFile {
    return {
      proofSystem: EZKL_PROOF_SYSTEM,
      modelHash: sha256(this.model),
      target: this.target,
      proof: new TextDecoder().decode(file),
    };
  }

  /** What proofs of this model are checked with. */
  key(logrows: number): EzklKeyFile {
    return {
      proofSystem: EZKL_PROOF_SYSTEM,
      modelHash: sha256(this.model),
      target: this.target,
      logrows,
      settings: readFileSync(this.at('settings.json'), 'utf8'),
      vk: readFileSync(this.at('vk')).toString('base64'),
      srsHash: sha256(readFileSync(ezklSrsFile(logrows))),
    };
  }

  /** Deletes keys and all else. */
  discard(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async makeSrs(logrows: number): Promise<StepCost | null> {
    if (existsSync(ezklSrsFile(logrows))) return null;
    mkdirSync(dirname(ezklSrsFile(logrows)), { recursive: true });
    const unfinished = `${ezklSrsFile(logrows)}.${process.pid}`;
    const { ms, cpuMs, peakRssBytes } = await this.ezkl.step('srs', { srs: unfinished, logrows });
    renameSync(unfinished, ezklSrsFile(logrows));
    return { ms, cpuMs, peakRssBytes };
  }

  /** All samples of an input one after the other, as EZKL reads data. */
  private write(name: string, samples: Samples): void {
    const { inputs } = readOnnx(this.model, 'model.onnx');
    const data = inputs.map((input) =>
      samples.flatMap((sample) => Array.from(sample.get(input.name)!.data as ArrayLike<number>, Number)),
    );
    writeFileSync(this.at(name), JSON.stringify({ input_data: data }));
  }

  private at(name: string): string {
    return join(this.folder, name);
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
