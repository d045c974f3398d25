/** From an ONNX model to a bundle. */
export { compileModel } from './compile.js';
export { SUPPORTED_OPERATORS } from './lower/index.js';
export type { CalibrationMethod, CompileOptions, CompileProgress, Samples } from './options.js';
export { prepareSupported } from './unsupported.js';
