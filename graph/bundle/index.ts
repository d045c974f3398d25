/** The compiled model as a file, and the way of real tensors in and out of it. */
export * from './types.js';
export * from './report.js';
export { BUNDLE_VERSION, decodeBundle, encodeBundle } from './codec.js';
export { makeBundle } from './make-bundle.js';
export { decodeOutputs, encodeInputs, roundHalfEven } from './ports.js';
