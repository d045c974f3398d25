import ort from 'onnxruntime-node';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnnx } from './read-onnx.js';
import { arbitraryModel } from './testing/arbitrary-model.js';
import { input, oneNodeModel, runOnnxruntime } from './testing/one-node.js';
import { generator, randomTensor } from './testing/random.js';
import { writeOnnx } from './write-onnx.js';

describe('writeOnnx', () => {
  it('is undone by readOnnx, and gives equal bytes for equal models', () => {
    fc.assert(
      fc.property(arbitraryModel, (model) => {
        const bytes = writeOnnx(model);
        const read = readOnnx(bytes, 'model.onnx');
        const { name, opset, inputs, outputs, nodes, initializers } = read;
        expect({ name, opset, inputs, outputs, nodes, initializers }).toEqual(model);
        expect(Buffer.from(writeOnnx(read)).equals(bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  const x = randomTensor(generator(1), 'float32', [3, 4]);
  const relu = { op: 'Relu', operands: [input(x)], outputs: [{ type: 'float32' as const, shape: [3, 4] }] };

  it.each([7, 8, 13, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26])(
    'is accepted by onnxruntime at opset %i',
    async (opset) => {
      const { model, feeds } = oneNodeModel({ ...relu, opset });
      const result = await runOnnxruntime(writeOnnx(model), feeds);
      expect(result.get('y0')!.data).toEqual((x.data as Float32Array).map((value) => Math.max(0, value)));
    },
  );

  it('writes symbols as free dimensions', async () => {
    const { model } = oneNodeModel({ ...relu, opset: 17 });
    const free = {
      ...model,
      inputs: [{ name: 'x0', type: 'float32' as const, shape: ['N', 4] }],
      outputs: [{ name: 'y0', type: 'float32' as const, shape: ['N', 4] }],
    };
    const session = await ort.InferenceSession.create(writeOnnx(free), { logSeverityLevel: 3 });
    expect(session.inputMetadata[0]).toMatchObject({ shape: ['N', 4] });
    const { y0 } = await session.run({ x0: new ort.Tensor('float32', new Float32Array(20), [5, 4]) });
    expect(y0!.dims).toEqual([5, 4]);
  });

  it('refuses an integer attribute that is no integer', () => {
    const { model } = oneNodeModel({ ...relu, opset: 17, attributes: { axis: 0.5 } });
    expect(() => writeOnnx(model)).toThrow(/axis = 0.5/);
  });
});
