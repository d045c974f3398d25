import { AssayError } from '../../common/errors.js';
import { bindDimensions } from './bind-dimensions.js';
import { inferModel } from './infer-model.js';
import type { UnsupportedNode } from './infer-model.js';
import type { KnownValue, OnnxModel } from './model.js';

/**
 * Every node that Assay cannot infer or evaluate, in topological order, with the reason and the mend; empty
 * where all are supported. Faults of other kinds (contradictory shapes) are left to `prepareModel`; open
 * dimensions count as 1.
 */
export function unsupportedNodes(
  model: OnnxModel,
  options: { dims?: Readonly<Record<string, number>> } = {},
): readonly UnsupportedNode[] {
  return inferModel(model, boundOrOne(model, options.dims ?? {})).unsupported;
}

function boundOrOne(model: OnnxModel, dims: Readonly<Record<string, number>>): readonly KnownValue[] {
  try {
    return bindDimensions(model, dims);
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'ONNX_DIMENSION_UNBOUND') throw error;
    const open = error.meta['symbols'] as readonly string[];
    return bindDimensions(model, { ...dims, ...Object.fromEntries(open.map((symbol) => [symbol, 1])) });
  }
}
