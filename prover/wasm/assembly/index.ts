/** Everything that JavaScript calls. */
export * from './vectors';
export { g1FromBytes, g1Normalise, g1ToBytes } from './curve';
export * from './msm';
export * from './rounds';
export { setScratch, staticEnd } from './scratch';
