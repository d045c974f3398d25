/** Whole jobs for the tests of the protocol: graph, key with plain commitments, inputs, statement. */
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { IntegerGraph, TensorId } from '../../graph/integer/types.js';
import { toField } from '../field/fr.js';
import { buildProgram, type ProgramWithModel } from '../program/build-program.js';
import { modelColumns, type GroupWitness } from '../prover/witness.js';
import { PLAIN_SRS_ID, plainCommitment, plainOpening } from '../reference/plain-scheme.js';
import type { ReferenceCommitter } from '../reference/reference-prover.js';
import type { ModelKey } from '../verifier/model-key.js';
import type { GroupStatement } from '../verifier/statement.js';

export const plainCommitter: ReferenceCommitter = {
  name: 'plain',
  code: 0,
  srsId: PLAIN_SRS_ID,
  commit: (column) => Promise.resolve(plainCommitment(column)),
  open: (_transcript, _claim, columns) => Promise.resolve(plainOpening(columns)),
};

export interface PlainJob {
  readonly statement: GroupStatement;
  readonly witness: GroupWitness;
}

export function plainKey(built: ProgramWithModel): ModelKey {
  const { program } = built;
  const cells = modelColumns(built);
  const size = 2 ** program.modelBits;
  const commitments = Array.from({ length: cells.length / size }, (_, c) =>
    plainCommitment(Array.from(cells.subarray(c * size, (c + 1) * size), toField)),
  );
  const zeros = `0x${'00'.repeat(32)}`;
  return { roots: { graphRoot: zeros, weightsRoot: zeros, opCount: 0 }, srsId: PLAIN_SRS_ID, program, commitments };
}

/** @param inputs one array per graph input, `items` items each. */
export function plainJob(graph: IntegerGraph, inputs: readonly Int32Array[], items: number): PlainJob {
  const built = buildProgram(graph);
  const values = evaluateGraph(graph, inputs, items);
  return {
    statement: { key: plainKey(built), items, inputs, outputs: built.published.map((id: TensorId) => values[id]!) },
    witness: { built, tensor: (id) => values[id]! },
  };
}
