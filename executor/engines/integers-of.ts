import { AssayError } from '../../common/errors.js';

/**
 * The integers that a device's float array holds.
 * A sound device computes nothing but integers here, so a fraction, an infinity or a NaN is a fault of the device
 * and never rounded away.
 *
 * @throws AssayError ENGINE_NOT_EXACT naming the tensor and the first such element.
 */
export function integersOf(
  data: Float32Array | Float64Array,
  expectedLength: number,
  at: { readonly engine: string; readonly tensor: string },
): Int32Array {
  if (data.length !== expectedLength) {
    throw new AssayError(
      'ENGINE_NOT_EXACT',
      `${at.engine}: tensor ${at.tensor} has ${data.length} elements, expected ${expectedLength}`,
      { meta: { ...at, found: data.length, expected: expectedLength } },
    );
  }
  const integers = new Int32Array(data.length);
  for (let index = 0; index < data.length; index++) {
    const value = data[index]!;
    const integer = value | 0;
    if (integer !== value) {
      throw new AssayError(
        'ENGINE_NOT_EXACT',
        `${at.engine}: tensor ${at.tensor}, element ${index}: expected a 32-bit integer, found ${value}`,
        { meta: { ...at, index, found: String(value) } },
      );
    }
    integers[index] = integer;
  }
  return integers;
}
