/** The root of a receipt's inputs as a reader with the bundle recomputes it. */
import { batchInputRoot } from '../../circuits/batch/input-root.js';
import { inputRoot, type IntegerGraph } from '../../graph/index.js';
import { AssayError } from '../../common/errors.js';
import type { Hex, RootOf } from '../../receipts/index.js';

/**
 * A receipt that was proved in a recursive batch names a Poseidon commitment, any other the root of tensors: the one that
 * is expected, if it is one of the two. Neither can be made to equal the other's value.
 */
export function inputRootOf(graph: IntegerGraph): RootOf {
  return (tensors, items, expected) => {
    const inputs = tensors.map((values) => Int32Array.from(values));
    const root = inputRoot(graph, inputs, items) as Hex;
    if (root === expected) return root;
    try {
      const other = batchInputRoot(graph, inputs, items);
      return other === expected ? other : root;
    } catch (error) {
      // A model that cannot be proved has no other commitment.
      if (error instanceof AssayError && error.code === 'NOT_PROVABLE') return root;
      throw error;
    }
  };
}
