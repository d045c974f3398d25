/** Test helper: random models with every kind of attribute, tensor and dimension. They need not make sense as graphs. */
import fc from 'fast-check';
import type { ElementType, Tensor } from '../../tensor.js';
import type { AttributeValue, OnnxNode } from '../model.js';
import type { WritableModel } from '../write-onnx.js';
import { generator, randomTensor } from './random.js';

const TYPES: readonly ElementType[] = [
  'float32',
  'float64',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'bool',
  'float16',
  'bfloat16',
  'string',
];

const name = fc.string({ minLength: 1, maxLength: 8 });

export const arbitraryTensor: fc.Arbitrary<Tensor> = fc
  .record({
    type: fc.constantFrom(...TYPES),
    shape: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
    seed: fc.integer(),
    text: fc.string(),
  })
  .map(({ type, shape, seed, text }) => {
    const size = shape.reduce((product, side) => product * side, 1);
    if (type === 'string') return { type, shape, data: Array.from({ length: size }, (_, index) => `${text}${index}`) };
    const next = generator(seed);
    return randomTensor(next, type, shape);
  });

/** Attribute names decide whether numbers are floats or integers. */
const attribute: fc.Arbitrary<[string, AttributeValue]> = fc.oneof(
  fc.tuple(fc.constant('alpha'), fc.float({ noNaN: true })),
  fc.tuple(fc.constant('axis'), fc.maxSafeInteger()),
  fc.tuple(fc.constant('mode'), fc.string()),
  fc.tuple(fc.constant('value'), arbitraryTensor),
  fc.tuple(fc.constant('pads'), fc.array(fc.maxSafeInteger(), { maxLength: 4 })),
  fc.tuple(fc.constant('value_floats'), fc.array(fc.float({ noNaN: true }), { maxLength: 4 })),
  fc.tuple(fc.constant('value_strings'), fc.array(fc.string(), { maxLength: 3 })),
);

/** A chain of nodes: each reads the value before it, an initializer and perhaps nothing. */
export const arbitraryModel: fc.Arbitrary<WritableModel> = fc
  .record({
    name,
    opset: fc.integer({ min: 7, max: 26 }),
    shape: fc.array(fc.oneof(fc.nat({ max: 99 }), name, fc.constant(null)), { maxLength: 4 }),
    type: fc.constantFrom(...TYPES),
    initializers: fc.array(arbitraryTensor, { minLength: 1, maxLength: 3 }),
    nodes: fc.array(
      fc.record({
        op: fc.constantFrom('Conv', 'Clip', 'Foo'),
        gap: fc.boolean(),
        attributes: fc.uniqueArray(attribute, { selector: ([key]) => key }),
      }),
      { minLength: 1, maxLength: 5 },
    ),
  })
  .map(({ name: modelName, opset, shape, type, initializers, nodes }) => {
    const chain = nodes.map(({ op, gap, attributes }, index): OnnxNode => ({
      name: `node ${index}`,
      op,
      domain: '',
      inputs: [`v${index}`, ...(gap ? [''] : []), `w${index % initializers.length}`],
      outputs: [`v${index + 1}`],
      attributes: new Map(attributes),
    }));
    return {
      name: modelName,
      opset,
      inputs: [{ name: 'v0', type, shape }],
      outputs: [{ name: `v${nodes.length}`, type: 'float32', shape }],
      nodes: chain,
      initializers: new Map(initializers.map((tensor, index) => [`w${index}`, tensor])),
    };
  });
