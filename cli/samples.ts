/** Turns what a user names on the command line (a shipped data set or a file) into samples for a model. */
import { extname } from 'node:path';
import { AssayError } from '../common/errors.js';
import { sizeOf, stridesOf, type KnownValue, type Samples, type Tensor } from '../graph/index.js';
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
    const total = sizeOf(array.shape);
    const count = total / itemSize;
    const trailing = stridesOf(array.shape)[0] ?? 1;
    const fits = Number.isInteger(count) && (total === itemSize || array.shape[0] === count || trailing === itemSize);
    if (!fits) {
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
          return [input.name, castTo(input, { type: array.type, shape: input.shape, data } as Tensor)];
        }),
      ),
  );
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
        return [input.name, castTo(input, { type: 'float64', shape: input.shape, data })];
      }),
    );
  });
}

function flatten(file: string, where: string, value: unknown): number[] {
  if (typeof value === 'number') return [value];
  if (Array.isArray(value)) return value.flatMap((part) => flatten(file, where, part));
  throw samplesError(
    file,
    `${where}: expected numbers, found ${value === undefined ? 'nothing' : JSON.stringify(value)}`,
  );
}

/** The tensor in the model's input type. */
function castTo(input: KnownValue, tensor: Tensor): Tensor {
  if (tensor.type === input.type) return tensor;
  const numbers = Array.from(tensor.data as ArrayLike<number | bigint>, Number);
  switch (input.type) {
    case 'float32':
      return { type: 'float32', shape: tensor.shape, data: Float32Array.from(numbers) };
    case 'float64':
      return { type: 'float64', shape: tensor.shape, data: Float64Array.from(numbers) };
    case 'int8':
      return { type: 'int8', shape: tensor.shape, data: Int8Array.from(numbers) };
    case 'uint8':
      return { type: 'uint8', shape: tensor.shape, data: Uint8Array.from(numbers) };
    case 'int32':
      return { type: 'int32', shape: tensor.shape, data: Int32Array.from(numbers) };
    case 'int64':
      return { type: 'int64', shape: tensor.shape, data: BigInt64Array.from(numbers, (n) => BigInt(Math.trunc(n))) };
    default:
      throw new AssayError(
        'SAMPLES_INVALID',
        `input "${input.name}" of type ${input.type} cannot be read from ${tensor.type}`,
        { meta: { input: input.name } },
      );
  }
}

function samplesError(file: string, what: string, cause?: unknown): AssayError {
  return new AssayError('SAMPLES_INVALID', `${file}: ${what}`, {
    meta: { file },
    ...(cause === undefined ? {} : { cause }),
  });
}
