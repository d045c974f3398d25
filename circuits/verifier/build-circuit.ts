/**
 * The circuit of a batch: the verifier of a joint proof (prover/verifier/phases.ts), computed with wires.
 *
 *   private: digests of the models, words of all inputs, all outputs, limbs of the commitments, messages of the phases
 *   1. input commitments and output words of every receipt
 *   2. the transcript absorbs the circuit's shape, digests, input commitments, output words
 *   3. phases L, A, O
 *   4. x = digests, receipts, limbs, coefficients, point, value (circuits/batch/joined.ts);  c, E from x and rho
 *   public: c, E, rho
 *
 * Nothing is assumed of a private signal. Words and outputs are the integers that they stand for because the lookups and
 * the bounds of the program say so (docs/protocol.md, Public values); that limbs are below 2^128, and scalars below r, the
 * contract sees to, which reads them from bytes.
 */
import { INPUT_START, INTEGERS_PER_WORD } from '../batch/commitments.js';
import { batchPlan, receiptLayout, shapeHash, splitReceipts } from '../batch/statement.js';
import type { BatchShape } from '../batch/types.js';
import type { Plan } from '../../prover/plan/plan.js';
import { phasesOver } from '../../prover/verifier/phases.js';
import { productShape } from '../../prover/verifier/product-shape.js';
import { OPENING_DEGREE, proofShape } from '../../prover/verifier/proof.js';
import { constantWire, reachable, wireField, Wiring, type Statement, type Wire } from './wires.js';
import { WireTranscript } from './wire-transcript.js';

export interface CircuitInput {
  readonly name: string;
  readonly signals: readonly number[];
}

export interface VerifierCircuit {
  readonly shape: BatchShape;
  readonly plan: Plan;
  readonly inputs: readonly CircuitInput[];
  readonly statements: readonly Statement[];
  /** x. */
  readonly joined: readonly Wire[];
}

/** Names of the private inputs, in the order in which they are declared. */
export const INPUT_NAMES = [
  'digests',
  'words',
  'outputs',
  'limbs',
  'lookupRounds',
  'values',
  'direct',
  'arithmeticRounds',
  'operands',
  'openingRounds',
] as const;
export type InputName = (typeof INPUT_NAMES)[number];

/** @throws AssayError PROOF_LIMITS where the shape is beyond the protocol. */
export function buildVerifierCircuit(shape: BatchShape): VerifierCircuit {
  const plan = batchPlan(shape);
  const wiring = new Wiring();
  const field = wireField(wiring);
  const proof = proofShape(plan, productShape(plan), 0);
  const layouts = shape.groups.map(receiptLayout);
  const groupItems = shape.groups.map(({ receipts, itemsPerReceipt }) => receipts * itemsPerReceipt);
  const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

  const digests = wiring.input('digests', 2 * shape.groups.length);
  const words = wiring.input('words', total(shape.groups.map(({ receipts }, g) => receipts * layouts[g]!.words)));
  const outputs = wiring.input(
    'outputs',
    total(shape.groups.map(({ receipts }, g) => receipts * layouts[g]!.integers)),
  );
  const limbs = wiring.input('limbs', 4 * (proof.witness + proof.helpers));
  const rounds = (name: InputName, count: number, degree: number): Wire[][] => {
    const all = wiring.input(name, count * degree);
    return Array.from({ length: count }, (_, i) => all.slice(i * degree, (i + 1) * degree));
  };
  const messages = {
    lookupRounds: rounds('lookupRounds', proof.lookupRounds, proof.lookupDegree),
    values: wiring.input('values', proof.values),
    direct: wiring.input('direct', 1)[0]!,
    arithmeticRounds: rounds('arithmeticRounds', proof.arithmeticRounds, proof.arithmeticDegree),
    operands: wiring.input('operands', proof.operands),
    openingRounds: rounds('openingRounds', plan.n, OPENING_DEGREE),
  };

  // Vectors of each group, cut from the inputs in the order of group, then input or output, then item.
  const cut = (all: readonly Wire[], counts: readonly (readonly number[])[]): Wire[][][] => {
    let at = 0;
    return counts.map((own) => own.map((count) => all.slice(at, (at += count))));
  };
  const groupWords = cut(
    words,
    layouts.map(({ wordIndices }, g) => wordIndices.map(({ length }) => groupItems[g]! * length)),
  );
  const groupOutputs = cut(
    outputs,
    layouts.map(({ outputSizes }, g) => outputSizes.map((size) => groupItems[g]! * size)),
  );

  const prefix = shape.groups.flatMap((group, g) => {
    const { wordIndices, outputSizes } = layouts[g]!;
    const inputs = splitReceipts(
      group,
      wordIndices.map(({ length }) => length),
      groupWords[g]!,
    );
    const published = splitReceipts(group, outputSizes, groupOutputs[g]!);
    return [
      ...digests.slice(2 * g, 2 * g + 2),
      ...inputs.flatMap((own, r) => [
        wiring.absorb(1, own.length, constantWire(INPUT_START), own).state,
        ...packWires(published[r]!),
      ]),
    ];
  });

  /** sum (v_j + 2^31) 2^(32 (k - 1 - j)) over up to 7 integers. */
  function packWires(values: readonly Wire[]): Wire[] {
    const packed: Wire[] = [];
    for (let at = 0; at < values.length; at += INTEGERS_PER_WORD)
      packed.push(
        values
          .slice(at, at + INTEGERS_PER_WORD)
          .reduce(
            (word, v) => field.add(field.mul(word, field.of(2 ** 32)), field.add(v, field.of(2 ** 31))),
            field.zero,
          ),
      );
    return packed;
  }

  const transcript = new WireTranscript(wiring);
  transcript.absorbBytes('batch', shapeHash(shape));
  transcript.absorbScalars('statement', prefix);
  const firstLimbs = 4 * proof.witness;
  const { coefficients, point, value } = phasesOver(field).verifyPhases(
    plan,
    messages,
    {
      words: groupWords.map((own, g) => own.map((vector, i) => itemWords(layouts[g]!.wordIndices[i]!, vector))),
      outputs: groupOutputs,
    },
    {
      absorbColumns: (label) =>
        transcript.absorbScalars(label, label === 'commitments' ? limbs.slice(0, firstLimbs) : limbs.slice(firstLimbs)),
      absorbScalars: (label, scalars) => transcript.absorbScalars(label, scalars),
      challenge: () => transcript.challenge(),
      challenges: (label, count) => transcript.challenges(label, count),
    },
  );
  const joined = [...prefix, ...limbs, ...coefficients, ...point, value];
  return { shape, plan, inputs: wiring.inputs, statements: reachable(wiring.statements, joined), joined };
}

/** The words of each item with their indices. */
function itemWords<E>(indices: readonly number[], vector: readonly E[]): [number, E][][] {
  return Array.from({ length: vector.length / indices.length }, (_, item) =>
    indices.map((index, i): [number, E] => [index, vector[item * indices.length + i]!]),
  );
}
