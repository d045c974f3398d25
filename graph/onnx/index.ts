/** ONNX in and out, and what an ONNX model means: shapes, constants, float reference evaluation. */
export * from './model.js';
export { readOnnx, OPSET_RANGE } from './readOnnx.js';
export { readTensorProto } from './readTensorProto.js';
export { writeOnnx, type WritableModel } from './writeOnnx.js';
export { prepareModel, type PrepareOptions } from './prepareModel.js';
export { evaluateModel } from './evaluateModel.js';
export { unsupportedNodes } from './unsupportedNodes.js';
export type { UnsupportedNode } from './inferModel.js';
export { OPERATORS } from './operators/registry.js';
