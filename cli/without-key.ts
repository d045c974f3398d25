import { makeBundle, type Bundle } from '../graph/index.js';

/** The bundle as it was compiled: the key that it may name belongs to one reference string. */
export function withoutKey(bundle: Bundle): Bundle {
  const { graph, inputs, outputs, sourceHash, report, committedSlots } = bundle;
  const parts = { graph, inputs, outputs, sourceHash, report };
  return makeBundle(committedSlots === undefined ? parts : { ...parts, committedSlots });
}
