/** The public face of the graph room. */
export * from './tensor.js';
export * from './onnx/index.js';
export * from './integer/index.js';
export * from './commitment/index.js';
export * from './bundle/index.js';
export * from './compile/index.js';
