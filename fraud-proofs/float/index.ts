/** Float32 graphs in disputes: identity, commitments, the sound bound, screening and evidence. */
export { floatBundle, type FloatBundle } from './float-bundle.js';
export { exportFloat, slotName } from './export-float.js';
export { FLOAT_KIND_CODE, floatModel, type FloatModel } from './float-model.js';
export { commitTensor, floatHeader, type CommittedTensor } from './commit-tensor.js';
export {
  commitFloatTrace,
  commitPorts,
  commitSlots,
  type CommittedPorts,
  type CommittedTrace,
} from './commit-trace.js';
export { isElementAllowed } from './judge-element.js';
export { allows, allowsExactly, type SumCase } from './sum.js';
export {
  screenElement,
  screenFloatTrace,
  type FloatFinding,
  type ScreenedSlot,
  type Tier,
} from './screen-float-trace.js';
export {
  encodeFloatEvidence,
  floatEvidence,
  floatFaultProof,
  type FloatEvidence,
  type FloatFault,
} from './float-evidence.js';
export {
  MAX_CONTRACTION,
  type FloatConstant,
  type FloatGraph,
  type FloatNode,
  type FloatPort,
  type FloatValue,
} from './types.js';
