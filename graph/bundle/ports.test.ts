import { describe, expect, it } from 'vitest';
import type { AssayError } from '../../common/errors.js';
import { GraphBuilder } from '../integer/builder.js';
import type { ElementType, Tensor } from '../tensor.js';
import { makeBundle } from './make-bundle.js';
import { decodeOutputs, encodeInputs, roundHalfEven } from './ports.js';
import type { CompileReport } from './report.js';
import type { Bundle } from './types.js';

const report: CompileReport = {
  modelName: 'ports',
  opset: 17,
  parameters: 0,
  macs: 0,
  nodes: [],
  tensors: [],
  calibration: { samples: 0, labelAgreement: null, maxAbsError: 0, meanAbsError: 0 },
  heldOut: null,
  tableRows: [],
  largestAccumulator: { tensor: 'x', magnitude: 0 },
  warnings: [],
};

/** x [?, 2] -> y [?, 2], the same integers, with scale 0.5 and zero point 10 on both sides. */
function copyBundle(options: { batched?: boolean; type?: ElementType; scale?: number } = {}): Bundle {
  const { batched = true, type = 'float32', scale = 0.5 } = options;
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [2], { lo: -100, hi: 117 }, scale, 10);
  const y = builder.add({ kind: 'reshape', name: 'copy', x }, { shape: [2], scale, zeroPoint: 10 });
  const port = (name: string): Bundle['inputs'][number] => ({ name, type, shape: batched ? [1, 2] : [2], batched });
  return makeBundle({
    graph: builder.finish('copy', [y]),
    inputs: [port('x')],
    outputs: [port('y')],
    sourceHash: `0x${'00'.repeat(32)}`,
    report,
  });
}

const float32 = (shape: number[], values: number[]): Tensor => ({
  type: 'float32',
  shape,
  data: Float32Array.from(values),
});

function refusal(tensors: [string, Tensor][], bundle = copyBundle()): string {
  try {
    encodeInputs(bundle, new Map(tensors));
  } catch (error) {
    expect((error as AssayError).code).toBe('INPUT_INVALID');
    return (error as Error).message;
  }
  return expect.fail('nothing was thrown');
}

describe('rounding', () => {
  it('goes to the even integer from halves', () => {
    expect([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, 2.6, -2.6, 1e15 + 0.5].map((x) => roundHalfEven(x) + 0)).toEqual([
      -2, -2, 0, 0, 2, 2, 2, 3, -3, 1e15,
    ]);
  });
});

describe('inputs', () => {
  it('become integers minus the zero point, rounded half to even, clamped to the range', () => {
    const { values, items } = encodeInputs(
      copyBundle(),
      new Map([['x', float32([3, 2], [0, 0.25, 0.75, -1, 1e30, -1e30])]]),
    );
    expect(items).toBe(3);
    // x / 0.5 = 0, 0.5, 1.5, -2, ...
    expect(values.map((v) => [...v])).toEqual([[-10, -10, -8, -12, 117, -100]]);
  });

  it('of integer and boolean types are read as numbers', () => {
    for (const [type, data] of [
      ['int64', BigInt64Array.of(3n, -4n)],
      ['uint8', Uint8Array.of(3, 4)],
      ['bool', Uint8Array.of(1, 0)],
    ] as const) {
      const bundle = copyBundle({ type, scale: 1 });
      const { values } = encodeInputs(bundle, new Map([['x', { type, shape: [1, 2], data } as Tensor]]));
      expect([...values[0]!]).toEqual(Array.from(data as ArrayLike<number | bigint>, (v) => Number(v) - 10));
    }
  });

  it('are refused with the port, what was expected and what was found', () => {
    expect(refusal([])).toBe("input 'x': missing");
    expect(
      refusal([
        ['x', float32([1, 2], [0, 0])],
        ['z', float32([1], [0])],
      ]),
    ).toBe("the model has no input 'z'; its inputs are 'x'");
    expect(refusal([['x', float32([1, 3], [0, 0, 0])]])).toBe("input 'x': shape [1, 3], expected [N, 2] with N >= 1");
    expect(refusal([['x', float32([2], [0, 0])]])).toContain('shape [2], expected [N, 2]');
    expect(refusal([['x', float32([0, 2], [])]])).toContain('shape [0, 2]');
    expect(refusal([['x', float32([1, 2], [0])]])).toContain('1 elements for the shape [1, 2]');
    expect(refusal([['x', float32([1, 2], [0, NaN])]])).toBe("input 'x': element 1 is NaN, expected a finite number");
    expect(refusal([['x', float32([1, 2], [-Infinity, 0])]])).toContain('element 0 is -Infinity');
    expect(refusal([['x', { type: 'float64', shape: [1, 2], data: Float64Array.of(0, 0) }]])).toBe(
      "input 'x': type float64, expected float32",
    );
    expect(
      refusal([['x', { type: 'float16', shape: [1, 2], data: Uint16Array.of(0, 0) }]], copyBundle({ type: 'float16' })),
    ).toContain('cannot be encoded');
  });

  it('without a batch axis are one item', () => {
    const bundle = copyBundle({ batched: false });
    expect(encodeInputs(bundle, new Map([['x', float32([2], [0, 0])]])).items).toBe(1);
    expect(refusal([['x', float32([4], [0, 0, 0, 0])]], bundle)).toContain('shape [4], expected [2]');
  });
});

describe('outputs', () => {
  it('are scale * (integer + zero point), batched as the port', () => {
    const outputs = decodeOutputs(copyBundle(), [Int32Array.of(-10, 0, 5, 7)], 2);
    expect(outputs.get('y')).toEqual(float32([2, 2], [0, 5, 7.5, 8.5]));
  });

  it('round trip within half a step', () => {
    const bundle = copyBundle();
    const x = float32([1, 2], [3.3, -7.9]);
    const { values, items } = encodeInputs(bundle, new Map([['x', x]]));
    const y = decodeOutputs(bundle, values, items).get('y')!;
    (y.data as Float32Array).forEach((v, i) =>
      expect(Math.abs(v - (x.data as Float32Array)[i]!)).toBeLessThanOrEqual(0.25),
    );
  });

  it('of integer types are rounded and saturated', () => {
    const at = (type: ElementType): unknown =>
      decodeOutputs(copyBundle({ type, scale: 2 }), [Int32Array.of(-90, 117)], 1).get('y')!.data;
    expect(at('int8')).toEqual(Int8Array.of(-128, 127));
    expect(at('uint8')).toEqual(Uint8Array.of(0, 254));
    expect(at('int64')).toEqual(BigInt64Array.of(-160n, 254n));
    expect(at('uint64')).toEqual(BigUint64Array.of(0n, 254n));
    expect(at('bool')).toEqual(Uint8Array.of(1, 1));
    expect(at('float64')).toEqual(Float64Array.of(-160, 254));
  });

  it('of a wrong number are refused', () => {
    expect(() => decodeOutputs(copyBundle(), [], 1)).toThrow('the model has 1 outputs, 0 arrays were given');
    expect(() => decodeOutputs(copyBundle(), [new Int32Array(3)], 1)).toThrow('3 integers, expected 2 for 1 items');
    expect(() => decodeOutputs(copyBundle({ batched: false }), [new Int32Array(4)], 2)).toThrow("output 'y'");
  });
});
