import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { compileModel, encodeInputs, evaluateGraph, exportExact, readOnnx, type Bundle } from '../graph/index.js';
import type { Examples } from './data/dataset.js';
import { calibrationSamples, shippedModel, type ShippedModel } from './index.js';
import { readCard, shareText } from './testing/card.js';
import { heldOutOf, runFloat } from './testing/onnxruntime.js';
import { countCorrect } from './train/fit.js';

/** Samples on which the graph's slow reference is compared with its exact ONNX form, bit for bit. */
const REFERENCE_ITEMS = 20;
/** Items per run of onnxruntime: what its tensors need grows with it. */
const BATCH = 250;

function compile(model: ShippedModel): Bundle {
  return compileModel(readOnnx(readFileSync(model.file), model.file), {
    calibration: calibrationSamples(model.name, model.calibrationCount),
  });
}

/** The integers that the bundle's graph takes for all examples. */
function encode(bundle: Bundle, model: ShippedModel, { count, shape, values }: Examples): Int32Array {
  const tensor = { type: 'float32', shape: [count, ...shape], data: values } as const;
  return encodeInputs(bundle, new Map([[model.input, tensor]])).values[0]!;
}

/** The integer graph's output for all items, by onnxruntime on its exact ONNX form. */
async function runInteger({ graph }: Bundle, input: Int32Array, items: number): Promise<Float32Array> {
  const [inputId] = graph.inputs;
  const [outputId] = graph.outputs;
  const session = await ort.InferenceSession.create(exportExact(graph, { outputs: graph.outputs }), {
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
  });
  try {
    const itemShape = graph.tensors[inputId!]!.shape;
    const itemSize = input.length / items;
    const parts: number[] = [];
    for (let first = 0; first < items; first += BATCH) {
      const part = Math.min(BATCH, items - first);
      const data = Float32Array.from(input.subarray(first * itemSize, (first + part) * itemSize));
      const outputs = await session.run({ [`t${inputId}`]: new ort.Tensor('float32', data, [part, ...itemShape]) });
      for (const value of outputs[`t${outputId}`]!.data as Float32Array) parts.push(value);
    }
    return Float32Array.from(parts);
  } finally {
    await session.release();
  }
}

describe('integer accuracy on the whole held-out part', () => {
  it.each(readCard())('$name: the count of the card, and the reference agrees', async ({ name, integer }) => {
    const model = shippedModel(name);
    const bundle = compile(model);
    const heldOut = heldOutOf(model);
    const input = encode(bundle, model, heldOut);
    const outputs = await runInteger(bundle, input, heldOut.count);

    const some = input.subarray(0, (input.length / heldOut.count) * REFERENCE_ITEMS);
    const reference = evaluateGraph(bundle.graph, [some], REFERENCE_ITEMS)[bundle.graph.outputs[0]!]!;
    expect([...outputs.subarray(0, reference.length)]).toEqual([...reference]);

    const integerCorrect = countCorrect(outputs, heldOut.labels);
    expect(integer).toBe(shareText(integerCorrect, heldOut.count));
    const floatCorrect = countCorrect(await runFloat(model, heldOut), heldOut.labels);
    if (model.dataset === 'mnist') {
      expect(Math.abs(integerCorrect - floatCorrect) / heldOut.count).toBeLessThanOrEqual(0.005);
    } else {
      // One flower is 2.2 points.
      expect(Math.abs(integerCorrect - floatCorrect)).toBeLessThanOrEqual(1);
    }
  });
});
