/** Turns what a user names on the command line (a shipped data set or a file) into samples for a model. */
import { extname } from 'node:path';
import { AssayError } from '../common/errors.js';
import { sizeOf, type ElementType, type KnownValue, type Samples, type Tensor } from '../graph/index.js';
import { readInputFile } from './files.js';
import { readNpy, readNpz } from './numpy.js';

/**
 * @param file .npy (models with one input), .npz (one array per input name) or .json
 *   (an array of samples, each a nested array or an object of them by input name).
 *   Arrays carry the samples along axis 0.
 * @throws AssayError SAMPLES_INVALID naming file, input, expected and found shape.
 */
export function readSamples(file: string, inputs: readonly KnownValue[]): Samples {
  const bytes = readInputFile(file);
  const ending = extname(file).toLowerCase();
  if (ending === '.npz') return splitSamples(file, readNpz(bytes, file), inputs);
  if (ending === '.npy')
    return splitSamples(file, new Map([[onlyInput(file, inputs).name, readNpy(bytes, file)]]), inputs);
  if (ending === '.json') return jsonSamples(file, bytes, inputs);
  throw samplesError(file, `has the ending "${ending}"; expected .npy, .npz or .json`);
}

function onlyInput(file: string, inputs: readonly KnownValue[]): KnownValue {
  if (inputs.length === 1) return inputs[0]!;
  throw samplesError(
    file,
    `holds one array, but the model has ${inputs.length} inputs (${inputs.map((i) => i.name).join(', ')}): use .npz or .json`,
  );
}

/** Cuts arrays [samples, ...] or [samples, batch-free shape] into tensors of the model's own input shape. */
function splitSamples(file: string, arrays: ReadonlyMap<string, Tensor>, inputs: readonly KnownValue[]): Samples {
  const parts = inputs.map((input) => {
    const array = arrays.get(input.name);
    if (array === undefined)
      throw samplesError(file, `has no array for input "${input.name}"; it holds ${[...arrays.keys()].join(', ')}`);
    const itemSize = sizeOf(input.shape);
    const count = sampleCount(array.shape, input.shape);
    if (count === null) {
      throw samplesError(
        file,
        `input "${input.name}" has shape [${array.shape.join(', ')}]; expected samples of [${input.shape.join(', ')}] along axis 0`,
      );
    }
    return { input, array, itemSize, count };
  });
  const count = parts[0]!.count;
  for (const part of parts) {
    if (part.count !== count)
      throw samplesError(
        file,
        `input "${part.input.name}" has ${part.count} samples, "${parts[0]!.input.name}" has ${count}`,
      );
  }
  return Array.from(
    { length: count },
    (_, i) =>
      new Map(
        parts.map(({ input, array, itemSize }) => {
          const data = array.data.slice(i * itemSize, (i + 1) * itemSize);
          return [input.name, castTo(file, input, { type: array.type, shape: input.shape, data } as Tensor)];
        }),
      ),
  );
}

/**
 * How many samples of an item shape an array holds: one of exactly that shape, or many along axis 0, each of the item's
 * shape (sides of 1 may be left out) or flat. Null for any other shape: an array of channels-last images is not
 * reinterpreted as channels-first ones.
 */
function sampleCount(shape: readonly number[], item: readonly number[]): number | null {
  const wide = (sides: readonly number[]) => sides.filter((side) => side !== 1).join(',');
  if (shape.join(',') === item.join(',')) return 1;
  const [count, ...rest] = shape;
  if (count === undefined) return null;
  const flat = rest.length === 1 && rest[0] === sizeOf(item);
  return flat || wide(rest) === wide(item) ? count : null;
}

function jsonSamples(file: string, bytes: Uint8Array, inputs: readonly KnownValue[]): Samples {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw samplesError(file, `is not JSON (${(cause as Error).message})`, cause);
  }
  if (!Array.isArray(parsed)) throw samplesError(file, 'must hold an array of samples');
  return parsed.map((sample: unknown, index) => {
    const named =
      sample !== null && typeof sample === 'object' && !Array.isArray(sample)
        ? (sample as Record<string, unknown>)
        : null;
    return new Map(
      inputs.map((input) => {
        const value = named === null ? (onlyInput(file, inputs), sample) : named[input.name];
        const where = `sample ${index}, input "${input.name}"`;
        const data = Float64Array.from(flatten(file, where, value));
        if (data.length !== sizeOf(input.shape)) {
          throw samplesError(
            file,
            `${where} has ${data.length} elements; shape [${input.shape.join(', ')}] needs ${sizeOf(input.shape)}`,
          );
        }
        return [input.name, castTo(file, input, { type: 'float64', shape: input.shape, data })];
      }),
    );
  });
}

/** Deeper nesting than any tensor has. */
const MAX_DEPTH = 32;

function flatten(file: string, where: string, value: unknown, depth = 0): number[] {
  if (typeof value === 'number') return [value];
  if (depth > MAX_DEPTH) throw samplesError(file, `${where}: lists are nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) return value.flatMap((part) => flatten(file, where, part, depth + 1));
  throw samplesError(
    file,
    `${where}: expected numbers, found ${value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80)}`,
  );
}

/** Smallest and largest value of each integer type that an input may have. */
const INTEGERS: Partial<Record<ElementType, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  uint16: [0, 2 ** 16 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  // Beyond 2^53 a number does not say which integer is meant.
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  uint64: [0, Number.MAX_SAFE_INTEGER],
  bool: [0, 1],
};

/** The tensor in the model's input type; a value that this type cannot hold is refused, never changed. */
function castTo(file: string, input: KnownValue, tensor: Tensor): Tensor {
  if (tensor.type === input.type) return tensor;
  const numbers = Array.from(tensor.data as ArrayLike<number | bigint>, Number);
  const limits = INTEGERS[input.type];
  if (limits !== undefined) {
    const wrong = numbers.findIndex((n) => !Number.isInteger(n) || n < limits[0] || n > limits[1]);
    if (wrong >= 0) {
      throw samplesError(
        file,
        `input "${input.name}": element ${wrong} is ${numbers[wrong]}, which ${input.type} cannot hold`,
      );
    }
  }
  const { type } = input;
  const { shape } = tensor;
  switch (type) {
    case 'float32':
      return { type, shape, data: Float32Array.from(numbers) };
    case 'float64':
      return { type, shape, data: Float64Array.from(numbers) };
    case 'int8':
      return { type, shape, data: Int8Array.from(numbers) };
    case 'uint8':
    case 'bool':
      return { type, shape, data: Uint8Array.from(numbers) };
    case 'int16':
      return { type, shape, data: Int16Array.from(numbers) };
    case 'uint16':
      return { type, shape, data: Uint16Array.from(numbers) };
    case 'int32':
      return { type, shape, data: Int32Array.from(numbers) };
    case 'uint32':
      return { type, shape, data: Uint32Array.from(numbers) };
    case 'int64':
      return { type, shape, data: BigInt64Array.from(numbers, BigInt) };
    case 'uint64':
      return { type, shape, data: BigUint64Array.from(numbers, BigInt) };
    default:
      throw samplesError(file, `input "${input.name}": elements of type ${type} cannot be given in a file`);
  }
}

function samplesError(file: string, what: string, cause?: unknown): AssayError {
  return new AssayError('SAMPLES_INVALID', `${file}: ${what}`, {
    meta: { file },
    ...(cause === undefined ? {} : { cause }),
  });
}
