/** ONNX in and out, and what an ONNX model means: shapes, constants, float reference evaluation. */
export * from './model.js';
export { readOnnx, OPSET_RANGE } from './read-onnx.js';
export { readTensorProto } from './read-tensor-proto.js';
export { writeOnnx, type WritableModel } from './write-onnx.js';
export { prepareModel, type PrepareOptions } from './prepare-model.js';
export { evaluateModel } from './evaluate-model.js';
export { unsupportedNodes } from './unsupported-nodes.js';
export type { UnsupportedNode } from './infer-model.js';
export { OPERATORS } from './operators/registry.js';
