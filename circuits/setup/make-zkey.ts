/**
 * Makes a Groth16 proving key from known secrets, as snarkjs reads it, without phase 1 and without an FFT over points:
 * everything is evaluated at tau in the field (qap.ts) and then multiplied into points from tables of the generators.
 *
 * With gamma = delta = 1 the result is what `snarkjs groth16 setup` makes from powers of the same tau, byte for byte
 * apart from the mark of section 10; make-zkey.test.ts holds that.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { FQ_MODULUS, FR_MODULUS } from '../../prover/field/bn254.params.js';
import { encodeG1, G1_GENERATOR } from '../../prover/curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../prover/curve/g2.js';
import { inverse, mul } from '../../prover/field/fr.js';
import type { Arithmetic } from '../../prover/wasm/arithmetic.js';
import { readR1cs, type R1cs } from '../r1cs/read-r1cs.js';
import { runInThread } from '../run-apart.js';
import type { G2Result, G2Task } from './g2-worker.js';
import { predictSetup, type SetupCost } from './predict-setup.js';
import { domainPower, qapAtTau, quotientAtTau } from './qap.js';
import type { SetupSecrets } from './secrets.js';
import {
  COEFFICIENT_BYTES,
  G1_BYTES,
  G2_BYTES,
  MARK_BYTES,
  SECTIONS,
  storedG1,
  storedG2,
  writeElement,
} from './zkey-format.js';

/** First half of the mark of a key whose secrets are known, 32 characters; the second half is the circuit's hash. */
export const KNOWN_SECRETS_MARK = 'assay/groth16/development-only/1';

export interface SetupProgress {
  readonly step: 'predicted' | 'polynomials' | 'points of G1' | 'points of G2' | 'file';
  /** Units of the step that are done, and that there are. */
  readonly done: number;
  readonly total: number;
  /** Of the whole set-up, said before any of it is spent. */
  readonly cost: SetupCost;
}

export interface MakeZkeyOptions {
  readonly r1cs: Uint8Array;
  readonly secrets: SetupSecrets;
  /** The file to write. */
  readonly path: string;
  readonly arithmetic: Arithmetic;
  readonly onProgress?: (progress: SetupProgress) => void;
}

const CHUNK_POINTS = 1 << 14;
const WRITE_BYTES = 1 << 22;

/** Writes the proving key. @throws AssayError CIRCUIT_BUILD_FAILED for a malformed r1cs, CIRCUIT_KEY_INVALID for impossible secrets. */
export async function makeZkey({ r1cs: bytes, secrets, path, arithmetic, onProgress }: MakeZkeyOptions): Promise<void> {
  const r1cs = readR1cs(bytes);
  const cost = predictSetup(r1cs, arithmetic.threads);
  const tell = (step: SetupProgress['step'], done: number, total: number): void =>
    onProgress?.({ step, done, total, cost });
  tell('predicted', 0, 1);

  const { tau, alpha, beta, gamma, delta } = secrets;
  const { a, b, c } = qapAtTau(r1cs, tau);
  const inverseDelta = inverse(delta);
  const quotient = quotientAtTau(r1cs, tau).map((value) => mul(value, inverseDelta));
  const visible = 1 + r1cs.publicOutputs + r1cs.publicInputs;
  const [inverseGamma, combined] = [inverse(gamma), a.map((ai, w) => (beta * ai + alpha * b[w]! + c[w]!) % FR_MODULUS)];
  const publicScalars = combined.slice(0, visible).map((value) => mul(value, inverseGamma));
  const privateScalars = combined.slice(visible).map((value) => mul(value, inverseDelta));
  tell('polynomials', 1, 1);

  const g2 = multiplesOfH(b, arithmetic.threads, (done, total) => tell('points of G2', done, total));
  const total = 3 + a.length + b.length + combined.length + quotient.length;
  let done = 0;
  const g1 = (scalars: readonly bigint[]): Uint8Array =>
    storedG1(
      multiplesOfG(arithmetic, scalars, (count) => {
        done += count;
        tell('points of G1', done, total);
      }),
    );
  const ofG2 = (scalar: bigint): Uint8Array => storedG2(encodeG2(G2_GENERATOR.multiply(scalar)));
  const alphaBetaDelta = g1([alpha, beta, delta]);
  const one = (i: number): Uint8Array => alphaBetaDelta.subarray(G1_BYTES * i, G1_BYTES * (i + 1));
  const header = new Uint8Array(2 * 36 + 12);
  const view = new DataView(header.buffer);
  view.setUint32(0, 32, true);
  writeElement(view, 4, FQ_MODULUS);
  view.setUint32(36, 32, true);
  writeElement(view, 40, FR_MODULUS);
  view.setUint32(72, r1cs.wires, true);
  view.setUint32(76, visible - 1, true);
  view.setUint32(80, 2 ** domainPower(r1cs), true);
  const protocol = Uint8Array.of(1, 0, 0, 0);
  const mark = new Uint8Array(MARK_BYTES + 4);
  mark.set(new TextEncoder().encode(KNOWN_SECRETS_MARK));
  mark.set(createHash('sha256').update(bytes).digest(), MARK_BYTES / 2);

  const file = new ZkeyFile(path);
  try {
    file.section(SECTIONS.protocol, [protocol]);
    file.section(SECTIONS.header, [header, one(0), one(1), ofG2(beta), ofG2(gamma), one(2), ofG2(delta)]);
    file.section(SECTIONS.publicPoints, [g1(publicScalars)]);
    file.section(SECTIONS.aG1, [g1(a)]);
    file.section(SECTIONS.bG1, [g1(b)]);
    file.section(SECTIONS.privatePoints, [g1(privateScalars)]);
    file.section(SECTIONS.quotient, [g1(quotient)]);
    file.section(SECTIONS.bG2, [await g2]);
    tell('file', 0, 1);
    file.coefficients(r1cs, visible);
    file.section(SECTIONS.contributions, [mark]);
    tell('file', 1, 1);
  } finally {
    file.close();
  }
}

function multiplesOfG(
  { memory, fr, g1 }: Arithmetic,
  scalars: readonly bigint[],
  onChunk: (count: number) => void,
): Uint8Array {
  const points = new Uint8Array(scalars.length * G1_BYTES);
  const generator = encodeG1(G1_GENERATOR);
  for (let from = 0; from < scalars.length; from += CHUNK_POINTS) {
    const chunk = scalars.slice(from, from + CHUNK_POINTS);
    memory.scoped(() => points.set(g1.toBytes(g1.multiplesOf(generator, fr.fromBigInts(chunk))), from * G1_BYTES));
    onChunk(chunk.length);
  }
  return points;
}

/** Zero scalars cost nothing: most wires occur in no B. */
async function multiplesOfH(
  scalars: readonly bigint[],
  threads: number,
  onProgress: (done: number, total: number) => void,
): Promise<Uint8Array> {
  const wires = [...scalars.keys()].filter((wire) => scalars[wire] !== 0n);
  const share = Math.ceil(wires.length / threads);
  const done = new Array<number>(threads).fill(0);
  const points = new Uint8Array(scalars.length * G2_BYTES);
  await Promise.all(
    done.map(async (_, thread) => {
      const own = wires.slice(share * thread, share * (thread + 1));
      if (own.length === 0) return;
      const bytes = new Uint8Array(32 * own.length);
      const view = new DataView(bytes.buffer);
      own.forEach((wire, i) => writeElement(view, 32 * i, scalars[wire]!));
      const worker = new URL('./g2-worker', import.meta.url);
      const made = await runInThread<G2Task, G2Result>(worker, { scalars: bytes }, (text) => {
        done[thread] = Number(text);
        onProgress(
          done.reduce((x, y) => x + y),
          wires.length,
        );
      });
      own.forEach((wire, i) => points.set(made.subarray(G2_BYTES * i, G2_BYTES * (i + 1)), G2_BYTES * wire));
    }),
  );
  return points;
}

class ZkeyFile {
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, 'w');
    const head = new Uint8Array(12);
    head.set(new TextEncoder().encode('zkey'));
    new DataView(head.buffer).setUint32(4, 1, true);
    new DataView(head.buffer).setUint32(8, Object.keys(SECTIONS).length, true);
    this.write(head);
  }

  section(type: number, parts: readonly Uint8Array[]): void {
    this.head(
      type,
      parts.reduce((sum, { length }) => sum + length, 0),
    );
    for (const part of parts) this.write(part);
  }

  /** Section 4, with one row for the constant and each public wire after the circuit's own. */
  coefficients(r1cs: R1cs, visible: number): void {
    let terms = visible;
    for (let i = 0; i < r1cs.constraints; i++) terms += r1cs.starts[3 * i + 2]! - r1cs.starts[3 * i]!;
    this.head(SECTIONS.coefficients, 4 + terms * COEFFICIENT_BYTES);
    // Coefficients are stored times 2^512 mod r: one reduction of snarkjs's Montgomery form leaves 2^256 c.
    const scale = 2n ** 512n % FR_MODULUS;
    const buffer = new Uint8Array(4 + Math.min(terms, Math.ceil(WRITE_BYTES / COEFFICIENT_BYTES)) * COEFFICIENT_BYTES);
    const view = new DataView(buffer.buffer);
    view.setUint32(0, terms, true);
    let at = 4;
    const put = (part: number, row: number, wire: number, value: bigint): void => {
      if (at + COEFFICIENT_BYTES > buffer.length) {
        this.write(buffer.subarray(0, at));
        at = 0;
      }
      view.setUint32(at, part, true);
      view.setUint32(at + 4, row, true);
      view.setUint32(at + 8, wire, true);
      writeElement(view, at + 12, (value * scale) % FR_MODULUS);
      at += COEFFICIENT_BYTES;
    };
    for (let i = 0; i < r1cs.constraints; i++)
      for (const part of [0, 1])
        for (let term = r1cs.starts[3 * i + part]!; term < r1cs.starts[3 * i + part + 1]!; term++)
          put(part, i, r1cs.termWires[term]!, r1cs.coefficient(3 * i + part, term));
    for (let wire = 0; wire < visible; wire++) put(0, r1cs.constraints + wire, wire, 1n);
    this.write(buffer.subarray(0, at));
  }

  close(): void {
    closeSync(this.file);
  }

  private head(type: number, length: number): void {
    const head = new Uint8Array(12);
    new DataView(head.buffer).setUint32(0, type, true);
    new DataView(head.buffer).setBigUint64(4, BigInt(length), true);
    this.write(head);
  }

  private write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.file, bytes, done);
  }
}
