/**
 * Statement.sol, DirectEvidence.sol and ModelDigest.sol against the TypeScript that they must equal: words, roots,
 * digests and the transcript of random programs and tensors.
 */
import { hexlify, keccak256 } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FLOAT_RANGE, inputRoot, outputRoot, type CommittedInfo } from '../../graph/commitment/index.js';
import type { IntegerGraph } from '../../graph/integer/types.js';
import { sizeOf } from '../../graph/tensor.js';
import { Draw } from '../../prover/audit/draw.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import { encodeDirectEvidence } from '../../prover/files/direct-evidence.js';
import { evaluateWords } from '../../prover/plan/inputs.js';
import type { Plan } from '../../prover/plan/plan.js';
import { bitsOf } from '../../prover/program/layout.js';
import { encodeProgram } from '../../prover/program/encode-program.js';
import type { Program, PublicOutput } from '../../prover/program/types.js';
import { KeccakTranscript } from '../../prover/transcript/transcript.js';
import { requestedOutputs } from '../../prover/verifier/check-outputs.js';
import { modelKeyDigest, type ModelKey } from '../../prover/verifier/model-key.js';
import { absorbStatement, publicValues, type GroupStatement } from '../../prover/verifier/statement.js';
import { COMPILE_TIMEOUT_MS, deployHarness, type Harness } from '../harness/opening/deploy-harness.js';

const seed = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
console.log(`statement seed ${seed}`);

let harness: Harness;
beforeAll(async () => {
  harness = await deployHarness('StatementHarness');
}, COMPILE_TIMEOUT_MS);
afterAll(() => harness.stop());

const N = 10;
const SRS_ID = new Uint8Array(32).fill(0x5a);
const CONTEXT = Uint8Array.from({ length: 32 }, (_, i) => 7 * i);
const PROOF = Uint8Array.of(1, 2, 3);

interface TensorCase {
  readonly axes: readonly number[];
  readonly lo: number;
  readonly hi: number;
  /** @default as in memory */
  readonly layout?: readonly number[];
}
interface OutputCase extends TensorCase {
  readonly argMaxAxis?: number;
  /** Of the labels; @default the axes with 1 at the arg-max's. */
  readonly shape?: readonly number[];
}
interface Job {
  readonly group: GroupStatement;
  readonly graph: IntegerGraph;
  readonly ports: { inputs: CommittedInfo[]; outputs: CommittedInfo[] };
  readonly requested: readonly Int32Array[];
  readonly commitments: number;
}

const infoOf = ({ axes, lo, hi, layout }: TensorCase): CommittedInfo => ({
  shape: axes,
  range: { lo, hi },
  layout: layout ?? axes.map((_, i) => i),
});

function jobOf(inputs: readonly TensorCase[], outputs: readonly OutputCase[], items: number, draw: Draw): Job {
  const program: Program = {
    modelBits: 8,
    witness: inputs.length > 0 ? inputs.map(({ axes }) => ({ name: '', axes })) : [{ name: '', axes: [1] }],
    model: [],
    tables: inputs.map(({ lo, hi }) => ({ kind: 'input', lo, hi })),
    inputs: inputs.map(({ lo, hi }, i) => ({ slot: i, table: i, cellBits: hi - lo < 256 ? 8 : 16 })),
    requants: [],
    maxima: [],
    outputs: outputs.map(({ axes, lo, hi, argMaxAxis }): PublicOutput => ({
      range: { lo, hi },
      argMaxAxis: argMaxAxis ?? null,
      expression: { axes, linear: [], products: [] },
    })),
  };
  const commitments = draw.int(0, 3);
  const hash = (): string => hexlify(Uint8Array.from({ length: 32 }, () => draw.int(0, 255)));
  const key: ModelKey = {
    roots: { graphRoot: hash(), weightsRoot: hash(), opCount: draw.int(0, 2 ** 31 - 1) },
    srsId: SRS_ID,
    program,
    commitments: Array.from({ length: commitments }, () => Uint8Array.from({ length: 64 }, () => draw.int(0, 255))),
  };
  // Few different values along outputs, so that largest elements repeat.
  const published = outputs.map(({ axes, lo, hi }) => {
    const few = Array.from({ length: 3 }, () => draw.int(lo, hi));
    return Int32Array.from({ length: items * sizeOf(axes) }, () => draw.pick([lo, hi, ...few]));
  });
  const group: GroupStatement = {
    key,
    items,
    inputs: inputs.map(({ axes, lo, hi }) =>
      Int32Array.from({ length: items * sizeOf(axes) }, () =>
        draw.chance(0.1) ? draw.pick([lo, hi]) : draw.int(lo, hi),
      ),
    ),
    outputs: published,
  };
  const ports = {
    inputs: inputs.map(infoOf),
    outputs: outputs.map((output): CommittedInfo => {
      const { axes, argMaxAxis, shape } = output;
      if (argMaxAxis === undefined) return infoOf(output);
      const own = shape ?? axes.map((side, axis) => (axis === argMaxAxis ? 1 : side));
      return infoOf({
        axes: own,
        lo: 0,
        hi: axes[argMaxAxis]! - 1,
        ...(output.layout ? { layout: output.layout } : {}),
      });
    }),
  };
  const graph = {
    name: '',
    tensors: [...ports.inputs, ...ports.outputs],
    inputs: inputs.map((_, i) => i),
    outputs: outputs.map((_, i) => inputs.length + i),
  } as unknown as IntegerGraph;
  return { group, graph, ports, requested: requestedOutputs(program, items, published), commitments };
}

interface Found {
  readonly state: string;
  readonly gasAbsorb: bigint;
  readonly gasEvaluate: bigint;
  readonly gasDigest: bigint;
  readonly gasLocate: bigint;
}

const evidenceOf = ({ group, ports }: Job): Uint8Array => encodeDirectEvidence(group, ports, CONTEXT, PROOF);
const publish = ({ group: { key } }: Job): Promise<void> =>
  harness.send('publish', hexlify(encodeProgram(key.program)));
const read = async (evidence: Uint8Array, commitments: number, point: readonly bigint[] = []): Promise<unknown> =>
  harness.call('read', hexlify(evidence), hexlify(SRS_ID), commitments, N, point);

/** Everything that the contract finds in the job's evidence is what TypeScript says. */
async function expectEqual(job: Job, draw: Draw): Promise<Found> {
  const { group, graph } = job;
  const { program } = group.key;
  await publish(job);
  const values = publicValues({ groups: [group] });
  const transcript = new KeccakTranscript();
  const context = { scheme: 'mercury', srsId: SRS_ID, bound: CONTEXT };
  absorbStatement(transcript, context, { n: N } as Plan, { groups: [group] }, values);
  const point = Array.from({ length: 24 }, () => draw.field());
  const found = (await read(evidenceOf(job), job.commitments, point)) as Found & Record<string, unknown>;
  expect(found['context']).toBe(hexlify(CONTEXT));
  expect(found['items']).toBe(BigInt(group.items));
  expect(found['proofSize']).toBe(BigInt(PROOF.length));
  expect(found['modelDigest']).toBe(modelKeyDigest(group.key));
  expect(found['inputRoot']).toBe(inputRoot(graph, group.inputs, group.items));
  expect(found['outputRoot']).toBe(outputRoot(graph, job.requested, group.items));
  expect(BigInt(keccak256(`${found.state}5300000000`)) % FR_MODULUS).toBe(transcript.challenge(''));
  const batchBits = bitsOf(group.items);
  expect([...(found['evaluations'] as bigint[])]).toEqual(
    program.inputs.map((input, i) => evaluateWords(program, input, batchBits, values.words[0]![i]!, point)),
  );
  return found;
}

/** Revert name, or 'accepted'. */
async function refusal(evidence: Uint8Array, commitments: number): Promise<string> {
  try {
    await read(evidence, commitments);
  } catch (error) {
    const { revert, code } = error as { revert?: { name: string } | null; code?: string };
    if (code !== 'CALL_EXCEPTION') throw error;
    return revert?.name ?? 'reverted';
  }
  return 'accepted';
}

const permutation = (rank: number, draw: Draw): number[] => {
  const axes = Array.from({ length: rank }, (_, i) => i);
  for (let i = rank - 1; i > 0; i--) {
    const k = draw.int(0, i);
    [axes[i], axes[k]] = [axes[k]!, axes[i]!];
  }
  return axes;
};

describe('statements equal TypeScript', () => {
  const IDENTITY: readonly (readonly [string, TensorCase, number])[] = [
    ['784 pixels in a row', { axes: [784], lo: 0, hi: 255 }, 1],
    ['28 x 28 pixels', { axes: [1, 28, 28], lo: 0, hi: 255 }, 1],
    ['28 x 28 pixels, channels last', { axes: [1, 28, 28], lo: 0, hi: 255, layout: [1, 2, 0] }, 1],
    ['28 x 28 signed pixels', { axes: [1, 28, 28], lo: -128, hi: 127 }, 1],
    ['three images', { axes: [1, 28, 28], lo: 0, hi: 255 }, 3],
    ['three channels', { axes: [3, 9, 17], lo: 0, hi: 255 }, 2],
    ['three channels, last', { axes: [3, 9, 17], lo: 0, hi: 255, layout: [1, 2, 0] }, 2],
    ['rows of 16', { axes: [5, 16], lo: 0, hi: 255 }, 1],
    ['rows of 32', { axes: [3, 32], lo: -128, hi: 127 }, 2],
    ['rows of 33', { axes: [3, 33], lo: 0, hi: 255 }, 2],
    ['rows of 9', { axes: [3, 5, 9, 1], lo: 0, hi: 255 }, 3],
    ['rows of 8', { axes: [5, 8], lo: 0, hi: 255 }, 2],
    ['4 features', { axes: [4], lo: -128, hi: 127 }, 1],
    ['one number', { axes: [], lo: 0, hi: 255 }, 1],
    ['ones', { axes: [1, 1], lo: 0, hi: 255 }, 5],
    ['16-bit cells', { axes: [3, 20], lo: -32_768, hi: 32_767 }, 2],
    ['unsigned 16-bit cells', { axes: [10], lo: 0, hi: 65_535 }, 1],
    ['16-bit cells in elements of 4 bytes', { axes: [10], lo: -1, hi: 65_534 }, 1],
    ['8-bit cells in elements of 2 bytes', { axes: [20], lo: 200, hi: 300 }, 2],
    ['8-bit cells in elements of 4 bytes', { axes: [20], lo: -40_000, hi: -39_990 }, 2],
    ['rows of 256 values in elements of 2 bytes', { axes: [3, 20], lo: 200, hi: 455 }, 1],
    ['signed rows of 256 values in elements of 2 bytes', { axes: [3, 20], lo: -7, hi: 248 }, 2],
    ['a narrow range', { axes: [20], lo: 3, hi: 60 }, 1],
    ['a single value', { axes: [20], lo: 5, hi: 5 }, 1],
  ];
  it.each(IDENTITY)('%s', async (name, input, items) => {
    const draw = new Draw(name, seed);
    const found = await expectEqual(jobOf([input], [{ axes: [10], lo: -1000, hi: 1000 }], items, draw), draw);
    console.log(`${name}: ${found.gasAbsorb} gas to absorb, ${found.gasEvaluate} to evaluate`);
    console.log(`locate ${found.gasLocate}, digest ${found.gasDigest}`);
  });

  it('random programs, tensors, layouts', async () => {
    for (let run = 0; run < 60; run++) {
      const draw = new Draw('statement', seed + run);
      const inputs = Array.from({ length: draw.int(0, 3) }, (): TensorCase => {
        const axes = Array.from({ length: draw.int(0, 3) }, () => draw.pick([1, 2, 3, 5, 9, 16, 18]));
        const lo = draw.pick([0, 0, -128, -7, 200, -40_000]);
        const hi = lo + draw.pick([0, 3, 255, 255, 256, 65_535]);
        return { axes, lo, hi, layout: draw.chance(0.5) ? permutation(axes.length, draw) : axes.map((_, i) => i) };
      });
      const outputs = Array.from({ length: draw.int(1, 3) }, (): OutputCase => {
        const axes = Array.from({ length: draw.int(1, 3) }, () => draw.int(1, 6));
        const lo = draw.pick([0, -128, -100_000, -(2 ** 31)]);
        const hi = Math.min(lo + draw.pick([0, 255, 70_000, 2 ** 31]), 2 ** 31 - 1);
        const argMaxAxis = draw.int(0, axes.length - 1);
        const layout = permutation(axes.length, draw);
        return { axes, lo, hi, layout, ...(draw.chance(0.5) ? { argMaxAxis } : {}) };
      });
      await expectEqual(jobOf(inputs, outputs, draw.int(1, 5), draw), draw);
    }
  });

  it('an arg-max may have been reshaped', async () => {
    const draw = new Draw('reshaped', seed);
    for (const shape of [[12], [2, 6], [2, 2, 3], [1, 12, 1]])
      await expectEqual(
        jobOf(
          [],
          [{ axes: [4, 3, 7], lo: -5, hi: 5, argMaxAxis: 2, shape, layout: shape.map((_, i) => shape.length - 1 - i) }],
          2,
          draw,
        ),
        draw,
      );
  });

  it('the first of equal largest elements is the arg-max, for both', async () => {
    const job = jobOf([], [{ axes: [5], lo: -9, hi: 9, argMaxAxis: 0 }], 3, new Draw('ties', seed));
    const outputs = [Int32Array.of(-9, 4, 4, 4, -1, 7, 7, 7, 7, 7, -9, -9, -9, -9, 9)];
    const group = { ...job.group, outputs };
    const requested = requestedOutputs(group.key.program, 3, outputs);
    expect([...requested[0]!]).toEqual([1, 0, 4]);
    await expectEqual({ ...job, group, requested }, new Draw('point', seed));
  });
});

describe('what the program and the items leave no room for is refused', () => {
  const input: TensorCase = { axes: [2, 17], lo: 0, hi: 255 };
  const output: OutputCase = { axes: [3, 4], lo: -300, hi: 300 };
  const labels: OutputCase = { axes: [3, 4], lo: -300, hi: 300, argMaxAxis: 1 };
  const job = jobOf([input], [output, labels], 2, new Draw('refused', seed));
  beforeAll(() => publish(job));
  const with_ = (ports: Partial<Job['ports']>): Job => ({ ...job, ports: { ...job.ports, ...ports } });

  it('the honest evidence is read', async () => {
    await expectEqual(job, new Draw('honest', seed));
  });

  it.each<[string, CommittedInfo]>([
    ['lo', { shape: [2, 17], range: { lo: -1, hi: 126 }, layout: [0, 1] }],
    ['hi', { shape: [2, 17], range: { lo: 0, hi: 254 }, layout: [0, 1] }],
    ['shape', { shape: [17, 2], range: { lo: 0, hi: 255 }, layout: [0, 1] }],
    ['rank', { shape: [34], range: { lo: 0, hi: 255 }, layout: [0] }],
    ['an axis of 1 more', { shape: [2, 17, 1], range: { lo: 0, hi: 255 }, layout: [0, 1, 2] }],
  ])('header of an input: %s', async (_name, info) => {
    const values = job.group.inputs.map((own) => own.map((v) => Math.min(v, info.range.hi)));
    const group = { ...job.group, inputs: values };
    expect(await refusal(evidenceOf({ ...with_({ inputs: [info] }), group }), job.commitments)).toBe('HeaderMismatch');
  });

  it('header of an input: float32, of as many bytes', async () => {
    const wide = jobOf([{ axes: [10], lo: -1, hi: 65_534 }], [output], 2, new Draw('wide', seed));
    await publish(wide);
    expect(await refusal(evidenceOf(wide), wide.commitments)).toBe('accepted');
    const inputs: CommittedInfo[] = [{ ...wide.ports.inputs[0]!, range: FLOAT_RANGE }];
    const evidence = evidenceOf({ ...wide, ports: { ...wide.ports, inputs } });
    expect(await refusal(evidence, wide.commitments)).toBe('HeaderMismatch');
  });

  it.each<[string, CommittedInfo]>([
    ['lo', { shape: [3, 4], range: { lo: -301, hi: 300 }, layout: [0, 1] }],
    ['hi', { shape: [3, 4], range: { lo: -300, hi: 301 }, layout: [0, 1] }],
    ['float32', { shape: [3, 4], range: FLOAT_RANGE, layout: [0, 1] }],
    ['shape', { shape: [4, 3], range: { lo: -300, hi: 300 }, layout: [0, 1] }],
    ['rank', { shape: [12], range: { lo: -300, hi: 300 }, layout: [0] }],
  ])('header of an output: %s', async (_name, info) => {
    const changed = with_({ outputs: [info, job.ports.outputs[1]!] });
    expect(await refusal(evidenceOf(changed), job.commitments)).toBe('HeaderMismatch');
  });

  it.each<[string, CommittedInfo]>([
    ['a range that misses the first label', { shape: [3, 1], range: { lo: 1, hi: 3 }, layout: [0, 1] }],
    ['a range that misses the last label', { shape: [3, 1], range: { lo: 0, hi: 2 }, layout: [0, 1] }],
    ['float32', { shape: [3, 1], range: FLOAT_RANGE, layout: [0, 1] }],
    ['more elements', { shape: [3, 2], range: { lo: 0, hi: 3 }, layout: [0, 1] }],
    ['fewer elements', { shape: [1], range: { lo: 0, hi: 3 }, layout: [0] }],
  ])('header of an arg-max: %s', async (_name, info) => {
    const changed = with_({ outputs: [job.ports.outputs[0]!, info] });
    expect(await refusal(evidenceOf(changed), job.commitments)).toBe('HeaderMismatch');
  });

  /** Offsets of the parts of the evidence. */
  const offsets = (): { items: number; input: number; elements: number; output: number } => {
    const at = 137 + 64 * job.commitments;
    return { items: 132, input: at, elements: at + 27, output: at + 27 + 68 };
  };
  const changed = (at: number, value: number): Uint8Array => {
    const evidence = evidenceOf(job);
    evidence[at] = value;
    return evidence;
  };

  it('items of a header that are not those of the statement; layouts that are none; chunks that are not', async () => {
    const { items, input } = offsets();
    expect(await refusal(changed(items + 3, 3), job.commitments)).not.toBe('accepted');
    expect(await refusal(changed(input + 22, 3), job.commitments)).toBe('HeaderMismatch');
    expect(await refusal(changed(input + 17, 1), job.commitments)).toBe('HeaderMismatch');
    expect(await refusal(changed(input + 26, 9), job.commitments)).toBe('HeaderMismatch');
  });

  it('elements and published integers outside their ranges', async () => {
    const narrow = jobOf([{ axes: [20], lo: 3, hi: 60 }], [output], 1, new Draw('narrow', seed));
    await publish(narrow);
    const start = evidenceOf(narrow).length - PROOF.length - 4 * 12 - 27 - 20;
    for (const [value, expected] of [
      [2, 'ValueOutOfRange'],
      [3, 'accepted'],
      [60, 'accepted'],
      [61, 'ValueOutOfRange'],
      [255, 'ValueOutOfRange'],
    ] as const) {
      const evidence = evidenceOf(narrow);
      evidence[start + 7] = value;
      expect(await refusal(evidence, narrow.commitments), `${value}`).toBe(expected);
    }
    const published = evidenceOf(narrow).length - PROOF.length - 4 * 12;
    for (const [value, expected] of [
      [-301, 'ValueOutOfRange'],
      [-300, 'accepted'],
      [300, 'accepted'],
      [301, 'ValueOutOfRange'],
      [-(2 ** 31), 'ValueOutOfRange'],
    ] as const) {
      const evidence = evidenceOf(narrow);
      new DataView(evidence.buffer, evidence.byteOffset).setInt32(published + 4 * 5, value);
      expect(await refusal(evidence, narrow.commitments), `${value}`).toBe(expected);
    }
  });

  it('evidence that ends before its tensors do', async () => {
    const evidence = evidenceOf(job);
    for (const length of [
      0,
      31,
      136,
      137,
      150,
      offsets().elements,
      offsets().output,
      evidence.length - PROOF.length - 1,
    ])
      expect(await refusal(evidence.slice(0, length), job.commitments), `${length}`).not.toBe('accepted');
  });

  it('every byte before the proof counts: digest, state or a root differ, or it is refused', async () => {
    const evidence = evidenceOf(job);
    const honest = (await read(evidence, job.commitments)) as Record<string, unknown>;
    const view = (found: Record<string, unknown>): string =>
      ['context', 'modelDigest', 'items', 'state', 'inputRoot', 'outputRoot'].map((name) => String(found[name])).join();
    for (let at = 0; at < evidence.length - PROOF.length; at++) {
      // n is the reader's here; DirectProof holds it against the proof's header.
      if (at === 136) continue;
      const other = evidence.slice();
      other[at]! ^= 1;
      try {
        expect(view((await read(other, job.commitments)) as Record<string, unknown>), `byte ${at}`).not.toBe(
          view(honest),
        );
      } catch (error) {
        if ((error as { code?: string }).code !== 'CALL_EXCEPTION') throw error;
      }
    }
  });
});
