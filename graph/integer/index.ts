/** The integer graph: vocabulary, rules, bounds, meaning, and its form as ordinary ONNX. */
export * from './types.js';
export { quotientRange, requantQuotient, type ChannelRanges } from './bounds.js';
export { GraphBuilder, type OutputOptions } from './builder.js';
export { checkInputs, evaluateGraph } from './evaluate.js';
export { exportExact, type ExportOptions } from './export-exact.js';
export { withLayouts } from './layout.js';
export { operandsOf, slotsOf, storageClasses, type StorageClass } from './operands.js';
export type { NewNode } from './shapes.js';
export { rangesOfTensors, validateGraph, type ValidateOptions } from './validate.js';
