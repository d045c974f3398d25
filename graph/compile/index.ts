/** From an ONNX model to a bundle. */
export { compileModel } from './compile.js';
export type { CalibrationMethod, CompileOptions, CompileProgress, Samples } from './options.js';
export { prepareSupported } from './unsupported.js';
