/** Sizes for the dimensions that a model leaves open. */
import { AssayError } from '../../common/errors.js';
import type { KnownValue, OnnxModel } from './model.js';

/** Names that exporters give to the batch, wherever it stands. */
const BATCH_NAME = /^n$|^bs$|batch/i;

/**
 * The model's inputs with every dimension a number.
 *
 * A symbol takes its size from `dims`; unbound, it is 1 where it names a batch or is the leading dimension of
 * some input. A dimension without a name is bound by `input[axis]`, for example `x[2]`.
 *
 * @param dims sizes by symbol, each a whole number of at least 1.
 * @throws ONNX_DIMENSION_UNBOUND listing every open dimension; ONNX_DIMENSION_INVALID.
 */
export function bindDimensions(model: OnnxModel, dims: Readonly<Record<string, number>>): KnownValue[] {
  const symbols = new Set<string>();
  const leading = new Set<string>();
  for (const input of model.inputs) {
    input.shape.forEach((side, axis) => {
      if (typeof side === 'number') return;
      const symbol = symbolOf(input.name, side, axis);
      symbols.add(symbol);
      if (axis === 0) leading.add(symbol);
    });
  }
  for (const [symbol, size] of Object.entries(dims)) {
    if (!symbols.has(symbol)) {
      const known = symbols.size === 0 ? 'it has none' : `it has ${[...symbols].sort().join(', ')}`;
      throw new AssayError(
        'ONNX_DIMENSION_INVALID',
        `The model has no dimension ${JSON.stringify(symbol)}; ${known}.`,
        {
          meta: { symbol, known: [...symbols] },
        },
      );
    }
    if (!Number.isInteger(size) || size < 1) {
      throw new AssayError(
        'ONNX_DIMENSION_INVALID',
        `The dimension ${JSON.stringify(symbol)} is bound to ${size}; expected a whole number of at least 1.`,
        {
          meta: { symbol, found: size },
        },
      );
    }
  }
  const open = new Set<string>();
  const sizeOfSymbol = (symbol: string): number => {
    if (Object.hasOwn(dims, symbol)) return dims[symbol]!;
    if (!leading.has(symbol) && !BATCH_NAME.test(symbol)) open.add(symbol);
    return 1;
  };
  const inputs = model.inputs.map(({ name, type, shape }) => ({
    name,
    type,
    shape: shape.map((side, axis) => (typeof side === 'number' ? side : sizeOfSymbol(symbolOf(name, side, axis)))),
  }));
  if (open.size > 0) {
    const named = [...open].map((symbol) => JSON.stringify(symbol)).join(', ');
    const flags = [...open].map((symbol) => `--dim ${symbol}=value`).join(' ');
    throw new AssayError('ONNX_DIMENSION_UNBOUND', `The model leaves the size of ${named} open.`, {
      mend: `Bind it: ${flags}`,
      meta: { symbols: [...open] },
    });
  }
  return inputs;
}

/** The symbols that `bindDimensions` took as 1 because `dims` does not bind them. */
export function assumedDimensions(model: OnnxModel, dims: Readonly<Record<string, number>>): string[] {
  const symbols = model.inputs.flatMap(({ name, shape }) =>
    shape.flatMap((side, axis) => (typeof side === 'number' ? [] : [symbolOf(name, side, axis)])),
  );
  return [...new Set(symbols)].filter((symbol) => !Object.hasOwn(dims, symbol));
}

/** A dimension's own name, or `input[axis]` where the file gives none. */
function symbolOf(input: string, side: string | null, axis: number): string {
  return side ?? `${input}[${axis}]`;
}
