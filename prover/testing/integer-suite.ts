/** The random graphs of the integer suite as jobs for proofs: extremes of ranges, weights and biases, every attribute. */
import { AssayError } from '../../common/errors.js';
import { evaluateGraph } from '../../graph/integer/evaluate.js';
import type { NodeCase } from '../../graph/integer/testing/random-graph.js';
import type { AuditGroup } from '../audit/cases.js';
import { withModelBits } from '../audit/cases.js';
import { buildProgram } from '../program/build-program.js';
import { bitsOf, bitsOfAxes, placeSlots } from '../program/layout.js';
import { MIN_COLUMN_BITS } from '../program/model-bits.js';
import { tableCells } from '../program/tables.js';

/**
 * @param mostCells of witness and tables together; the readable prover takes some ten microseconds for each.
 * @returns null where the proof system has no form for the graph, or its proof would be large.
 */
export function suiteGroup({ graph, inputs, items }: NodeCase, mostCells: number): AuditGroup | null {
  let built;
  try {
    built = buildProgram(graph);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'NOT_PROVABLE') return null;
    throw error;
  }
  const { program } = built;
  const witness = placeSlots(program.witness.map(({ axes }) => bitsOf(items) + bitsOfAxes(axes))).cells;
  const tables = tableCells(program.tables);
  if (witness + tables > mostCells) return null;
  const modelBits = Math.max(MIN_COLUMN_BITS, bitsOf(Math.ceil(witness / 3)), bitsOf(Math.ceil(tables / 60)));
  return { graph, built: withModelBits(built, modelBits), items, inputs, values: evaluateGraph(graph, inputs, items) };
}
