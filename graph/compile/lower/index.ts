/** All operators that can be lowered, by ONNX name. */
import { ARGMAX } from './argmax.js';
import { BINARY } from './binary.js';
import { LINEAR } from './linear.js';
import { NORMALISATION } from './normalisation.js';
import type { OperatorLowering } from './operator.js';
import { POOLING } from './pooling.js';
import { QUANTISED } from './quantised.js';
import { REDUCE } from './reduce.js';
import { SOFTMAX } from './softmax.js';
import { UNARY } from './unary.js';
import { WIRING } from './wiring.js';

export const OPERATORS: ReadonlyMap<string, OperatorLowering> = new Map(
  [LINEAR, NORMALISATION, UNARY, BINARY, POOLING, REDUCE, WIRING, SOFTMAX, ARGMAX, QUANTISED].flatMap((table) =>
    Object.entries(table),
  ),
);
