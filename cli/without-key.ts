import { makeBundle, type Bundle } from '../graph/index.js';

/** The bundle as it was compiled: the key that it may name belongs to one reference string. */
export function withoutKey({ graph, inputs, outputs, sourceHash, report }: Bundle): Bundle {
  return makeBundle({ graph, inputs, outputs, sourceHash, report });
}
