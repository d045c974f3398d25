/** Guards on what a caller hands to the compiler. */
import { AssayError } from '../../common/errors.js';
import { SEGMENT_LIMIT } from '../commitment/commit-table.js';
import { float64sOf } from '../onnx/numbers.js';
import type { PreparedModel } from '../onnx/model.js';
import type { LoweringSettings } from './lowering.js';
import type { CompileOptions, Samples } from './options.js';

const METHODS = ['auto', 'max', 'percentile', 'mse'] as const;

/** @throws AssayError COMPILE_OPTION_INVALID */
export function checkedSettings(options: CompileOptions): LoweringSettings {
  const { calibrationMethod: method = 'auto', weightBits = 8, activationBits = 8, accumulator = 'split' } = options;
  const refuse = (name: string, found: unknown, expected: string): AssayError =>
    new AssayError('COMPILE_OPTION_INVALID', `${name} is ${String(found)}, expected ${expected}`, {
      meta: { option: name },
    });
  for (const [name, bits] of [
    ['weightBits', weightBits],
    ['activationBits', activationBits],
  ] as const)
    if (!Number.isInteger(bits) || bits < 2 || bits > 8) throw refuse(name, bits, 'an integer in 2..8');
  if (!METHODS.includes(method)) throw refuse('calibrationMethod', method, `one of ${METHODS.join(', ')}`);
  if (accumulator !== 'split' && accumulator !== 'float32')
    throw refuse('accumulator', accumulator, "'split' or 'float32'");
  const { commitEvery = 1 } = options;
  if (!Number.isInteger(commitEvery) || commitEvery < 1 || commitEvery > SEGMENT_LIMIT)
    throw refuse('commitEvery', commitEvery, `an integer in 1..${SEGMENT_LIMIT}`);
  return { method, weightBits, activationBits, accumulator };
}

/** Operands that may be infinite: bounds of Clip. */
const UNBOUNDED_OPERANDS: Readonly<Record<string, readonly number[]>> = { Clip: [1, 2] };

/** @throws AssayError CONSTANT_NOT_FINITE naming tensor, element and the node that reads it. */
export function checkConstants(model: PreparedModel): void {
  for (const node of model.nodes)
    node.inputs.forEach((name, position) => {
      const tensor = model.initializers.get(name);
      if (tensor === undefined || tensor.type === 'string') return;
      const mayBeInfinite = UNBOUNDED_OPERANDS[node.op]?.includes(position) === true;
      const at = float64sOf(tensor).findIndex((v) => Number.isNaN(v) || (!mayBeInfinite && !Number.isFinite(v)));
      if (at < 0) return;
      throw new AssayError(
        'CONSTANT_NOT_FINITE',
        `tensor '${name}', read by node '${node.name}' (${node.op}), has ${String(tensor.data[at])} at element ${at}, expected finite numbers`,
        { meta: { tensor: name, node: node.name, element: at } },
      );
    });
}

/** @throws AssayError CALIBRATION_INVALID naming sample, tensor, what was expected and what was found. */
export function checkSamples(model: PreparedModel, samples: Samples, what: 'calibration' | 'held-out'): void {
  const refuse = (message: string, meta: Record<string, unknown> = {}): AssayError =>
    new AssayError('CALIBRATION_INVALID', `${what} ${message}`, { meta });
  if (samples.length === 0) throw refuse('samples: none were given, expected at least one');
  samples.forEach((sample, index) => {
    for (const name of sample.keys())
      if (!model.inputs.some((input) => input.name === name))
        throw refuse(
          `sample ${index}: the model has no input '${name}'; its inputs are ${model.inputs.map((input) => `'${input.name}'`).join(', ')}`,
          { sample: index, tensor: name },
        );
    for (const input of model.inputs) {
      const where = `sample ${index}, input '${input.name}'`;
      const meta = { sample: index, tensor: input.name };
      const tensor = sample.get(input.name);
      const expected = `${input.type} [${input.shape.join(', ')}]`;
      if (tensor === undefined) throw refuse(`${where}: missing, expected ${expected}`, meta);
      const found = `${tensor.type} [${tensor.shape.join(', ')}]`;
      if (found !== expected) throw refuse(`${where}: found ${found}, expected ${expected}`, meta);
      const size = input.shape.reduce((product, side) => product * side, 1);
      if (tensor.data.length !== size) throw refuse(`${where}: ${tensor.data.length} elements for ${found}`, meta);
      const at = float64sOf(tensor).findIndex((v) => !Number.isFinite(v));
      if (at >= 0)
        throw refuse(`${where}: element ${at} is ${String(tensor.data[at])}, expected a finite number`, meta);
    }
  });
}
