/**
 * What the transcript absorbs and draws, as a committed list, and that every challenge depends on everything before it.
 * A dropped absorb shows as a diff of the snapshot and as a challenge that does not move.
 */
import { concatBytes } from '@noble/hashes/utils.js';
import { describe, expect, it } from 'vitest';
import { makeJob, type AuditJob } from '../audit/audited-prover.js';
import { randomCase } from '../audit/cases.js';
import { Draw } from '../audit/draw.js';
import { plainCommitter, plainProver } from '../audit/plain-prover.js';
import { plainScheme } from '../reference/plain-scheme.js';
import { referenceProve } from '../reference/reference-prover.js';
import { KeccakTranscript, type TranscriptStep } from '../transcript/transcript.js';
import type { Statement } from './statement.js';
import { verifyProof } from './verify-proof.js';

/** Equal steps in a row as one line. */
function lines(steps: readonly TranscriptStep[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < steps.length;) {
    const pair = (at: number): string =>
      steps
        .slice(at, at + 2)
        .map(({ kind, label, size }) => `${kind} ${label} ${size}`)
        .join(', ');
    let repeats = 1;
    if (steps[i]!.label.endsWith(' round')) {
      while (pair(i) === pair(i + 2 * repeats)) repeats++;
      result.push(`${repeats} x (${pair(i)})`);
      i += 2 * repeats;
    } else {
      const { kind, label, size } = steps[i++]!;
      result.push(`${kind} ${label} ${size}`);
    }
  }
  return result;
}

const BOUND = Uint8Array.of(1, 2, 3);

async function jobOf(): Promise<AuditJob> {
  const draw = new Draw('inventory', 1);
  return makeJob(plainProver, [randomCase('network', draw, 2), randomCase('requantValues', draw, 1)], BOUND);
}

/** The digest is what a verifier draws; the steps what it does on the way, up to where it fails. */
function follow(
  statement: Statement,
  proof: Uint8Array,
  bound = BOUND,
): {
  steps: TranscriptStep[];
  challenges: { label: string; values: bigint[] }[];
  messages: { label: string; bytes: Uint8Array }[];
} {
  const steps: TranscriptStep[] = [];
  const challenges: { label: string; values: bigint[] }[] = [];
  const messages: { label: string; bytes: Uint8Array }[] = [];
  class Recording extends KeccakTranscript {
    override absorbBytes(label: string, bytes: Uint8Array): void {
      messages.push({ label, bytes });
      super.absorbBytes(label, bytes);
    }

    override challenges(label: string, count: number): bigint[] {
      const values = super.challenges(label, count);
      challenges.push({ label, values });
      return values;
    }
  }
  try {
    verifyProof(statement, proof, plainScheme, bound, new Recording((step) => steps.push(step)));
  } catch {
    // Changed proofs fail; what they drew before is what counts.
  }
  return { steps, challenges, messages };
}

/** A transcript that takes one message otherwise, and tells what is drawn from it. */
class Flipped extends KeccakTranscript {
  readonly drawn: { label: string; values: bigint[]; after: number }[] = [];
  absorbed = 0;

  constructor(private readonly flip: number) {
    super();
  }

  override absorbBytes(label: string, message: Uint8Array): void {
    const changed = Uint8Array.from(message);
    if (this.absorbed++ === this.flip) changed[changed.length - 1]! ^= 1;
    super.absorbBytes(label, changed);
  }

  override challenges(label: string, count: number): bigint[] {
    const values = super.challenges(label, count);
    this.drawn.push({ label, values, after: this.absorbed });
    return values;
  }
}

describe('the transcript', () => {
  it('is the committed inventory, on both sides', async () => {
    const job = await jobOf();
    const proverSteps: TranscriptStep[] = [];
    const proof = await referenceProve(
      job.statement,
      job.witnesses,
      job.n,
      plainCommitter,
      BOUND,
      {},
      new KeccakTranscript((step) => proverSteps.push(step)),
    );
    const { steps } = follow(job.statement, proof);
    expect(steps).toEqual(proverSteps);
    expect(lines(steps)).toMatchSnapshot();
  });

  it('every message moves every later challenge and no earlier one', () => {
    const absorbs = 40;
    const draws = (flip: number): Flipped => {
      const transcript = new Flipped(flip);
      for (let i = 0; i < absorbs; i++) {
        if (i % 3 === 0) transcript.absorbBytes('bytes', Uint8Array.of(i));
        else if (i % 3 === 1) transcript.absorbScalars('scalars', [BigInt(i), 5n]);
        else transcript.absorbPoints('points', [new Uint8Array(64).fill(i)]);
        transcript.challenges('drawn', 1 + (i % 2));
      }
      return transcript;
    };
    const honest = draws(-1).drawn;
    for (let flip = 0; flip < absorbs; flip++)
      draws(flip).drawn.forEach(({ values, after }, i) =>
        values.forEach((value, j) => expect(value === honest[i]!.values[j]).toBe(after <= flip)),
      );
  });

  it('absorbs every word of the proof, of the statement and of the context before the next challenge', async () => {
    const job = await jobOf();
    const proof = await job.prover.prove(job.statement, job.witnesses, job.n, BOUND, {});
    const honest = follow(job.statement, proof);
    const draws = honest.challenges.flatMap(({ values }) => values).length;
    /** The number of challenges that a change leaves as they were. */
    const unmoved = (statement: Statement, bytes: Uint8Array, bound = BOUND): number => {
      const { challenges } = follow(statement, bytes, bound);
      const flat = challenges.flatMap(({ values }) => values);
      const expected = honest.challenges.flatMap(({ values }) => values);
      const same = flat.filter((value, i) => value === expected[i]).length;
      const first = flat.findIndex((value, i) => value !== expected[i]);
      // All up to some place, none from there on.
      expect(same).toBe(first < 0 ? flat.length : first);
      return first < 0 ? draws : first;
    };
    const group = job.statement.groups[0]!;
    const altered = (change: Partial<typeof group>): Statement => ({
      groups: [{ ...group, ...change }, ...job.statement.groups.slice(1)],
    });
    const bump = (values: Int32Array, at: number): Int32Array =>
      values.map((v, i) => (i === at ? (v > 0 ? v - 1 : v + 1) : v));
    const flip = (bytes: Uint8Array, at: number): Uint8Array => bytes.map((b, i) => (i === at ? b ^ 1 : b));
    for (const at of [0, 20, group.inputs[0]!.length - 1])
      expect(unmoved(altered({ inputs: [bump(group.inputs[0]!, at)] }), proof), `input ${at}`).toBe(0);
    group.outputs.forEach((output, o) =>
      output.forEach((_, at) => {
        const outputs = group.outputs.map((values, i) => (i === o ? bump(values, at) : values));
        expect(unmoved(altered({ outputs }), proof), `output ${o} element ${at}`).toBe(0);
      }),
    );
    const other = `0x${'00'.repeat(31)}01`;
    const { roots } = group.key;
    for (const change of [{ graphRoot: other }, { weightsRoot: other }, { opCount: roots.opCount + 1 }])
      expect(unmoved(altered({ key: { ...group.key, roots: { ...roots, ...change } } }), proof), 'digest').toBe(0);
    group.key.commitments.forEach((_, c) => {
      const commitments = group.key.commitments.map((own, i) => (i === c ? flip(own, 40) : own));
      expect(unmoved(altered({ key: { ...group.key, commitments } }), proof), `commitment ${c} of the key`).toBe(0);
    });
    const program = {
      ...group.key.program,
      outputs: group.key.program.outputs.map((o) => ({ ...o, range: { lo: o.range.lo - 1, hi: o.range.hi } })),
    };
    expect(unmoved(altered({ key: { ...group.key, program } }), proof), 'program').toBe(0);
    expect(unmoved(job.statement, proof, Uint8Array.of(1, 2, 4)), 'context').toBe(0);
    expect(unmoved({ groups: [...job.statement.groups].reverse() }, proof), 'order of groups').toBe(0);

    // The proof: its bytes after the header and before the opening are the messages, one after another.
    const messages = honest.messages.filter(({ label }) =>
      /commitments$|round$|lookup values|direct|operands/.test(label),
    );
    const sent = concatBytes(...messages.map(({ bytes }) => bytes));
    expect(sent).toEqual(proof.subarray(11, 11 + sent.length));
    const columns = honest.messages
      .filter(({ label }) => label.endsWith('commitments'))
      .reduce((sum, { bytes }) => sum + bytes.length / 64, 0);
    const keyColumns = job.statement.groups.reduce((sum, { key }) => sum + key.commitments.length, 0);
    expect(proof).toHaveLength(11 + sent.length + plainScheme.openingBytes(job.n, columns + keyColumns));
  });
});
