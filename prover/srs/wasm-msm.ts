import type { Arithmetic } from '../wasm/arithmetic.js';
import type { MultiScalarMultiplication } from './check-powers.js';

export function wasmMsm({ memory, g1, fr }: Arithmetic): MultiScalarMultiplication {
  return (points, scalars) => memory.scoped(() => g1.msm(g1.fromBytes(points), fr.fromBigInts(scalars)));
}
