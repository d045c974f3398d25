import { describe, expect, it } from 'vitest';
import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import { evaluateModel } from './evaluate-model.js';
import type { AttributeValue, Dimension, OnnxModel, OnnxNode, PreparedModel } from './model.js';
import { prepareModel } from './prepare-model.js';
import type { PrepareOptions } from './prepare-model.js';
import { generator, int64s, randomTensor } from './testing/random.js';
import { unsupportedNodes } from './unsupported-nodes.js';

const next = generator(5);
const floats = (...shape: number[]): Tensor => randomTensor(next, 'float32', shape);
const node = (
  op: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, AttributeValue> = {},
  domain = '',
): OnnxNode => ({
  name: `${op} of ${inputs.join(' ')}`,
  op,
  domain,
  inputs,
  outputs,
  attributes: new Map(Object.entries(attributes)),
});

interface Draft {
  readonly input?: readonly Dimension[];
  readonly output: readonly Dimension[];
  readonly nodes: readonly OnnxNode[];
  readonly initializers?: Readonly<Record<string, Tensor>>;
  readonly opset?: number;
}

function draft({ input = ['N', 3], output, nodes, initializers = {}, opset = 17 }: Draft): OnnxModel {
  return {
    name: 'draft',
    producer: '',
    irVersion: 8,
    opset,
    inputs: [{ name: 'x', type: 'float32', shape: input }],
    outputs: [{ name: 'y', type: 'float32', shape: output }],
    nodes,
    initializers: new Map(Object.entries(initializers)),
    sourceHash: '0x',
  };
}

function failure(model: OnnxModel, options: PrepareOptions = {}): AssayError {
  try {
    prepareModel(model, options);
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
  throw new Error('was prepared');
}

const ops = (model: PreparedModel): string[] => model.nodes.map(({ op }) => op);
const relu = node('Relu', ['x'], ['y']);

describe('dimensions', () => {
  it.each<[input: Dimension[], dims: Record<string, number>, bound: number[]]>([
    [['N', 3], {}, [1, 3]],
    [[null, 3], {}, [1, 3]],
    [[2, 'batch_size'], {}, [2, 1]],
    [['N', 'T'], { T: 7 }, [1, 7]],
    [['N', null], { 'x[1]': 4 }, [1, 4]],
    [['N', 3], { N: 5 }, [5, 3]],
    [[4, 3], {}, [4, 3]],
  ])('%j with %j is %j', (input, dims, bound) => {
    const prepared = prepareModel(draft({ input, output: [null, null], nodes: [relu] }), { dims });
    expect(prepared.inputs[0]!.shape).toEqual(bound);
    expect(prepared.outputs).toEqual([{ name: 'y', type: 'float32', shape: bound }]);
  });

  it('names every open dimension and the flag that binds it', () => {
    const error = failure(draft({ input: ['N', 'T', null], output: [null, null, null], nodes: [relu] }));
    expect(error.code).toBe('ONNX_DIMENSION_UNBOUND');
    expect(error.message).toContain('"T", "x[2]"');
    expect(error.mend).toBe('Bind it: --dim T=value --dim x[2]=value');
  });

  it.each([
    [{ T: 3 }, /no dimension "T"; it has N/],
    [{ N: 0 }, /bound to 0/],
    [{ N: 1.5 }, /bound to 1.5/],
    [{ toString: 3 }, /no dimension "toString"/],
  ])('refuses %j', (dims, message) => {
    const error = failure(draft({ output: [null, 3], nodes: [relu] }), { dims });
    expect(error.code).toBe('ONNX_DIMENSION_INVALID');
    expect(error.message).toMatch(message);
  });
});

describe('folding', () => {
  it('turns a shape computed from the input into a constant', () => {
    const model = draft({
      input: ['N', 2, 3],
      output: ['N', 6],
      initializers: { zero: { ...int64s([0]), shape: [] } as Tensor, minus: int64s([-1]), axes: int64s([0]) },
      nodes: [
        node('Shape', ['x'], ['s']),
        node('Gather', ['s', 'zero'], ['n']),
        node('Unsqueeze', ['n', 'axes'], ['n1']),
        node('Concat', ['n1', 'minus'], ['target'], { axis: 0 }),
        node('Reshape', ['x', 'target'], ['y']),
      ],
    });
    const prepared = prepareModel(model, { dims: { N: 4 } });
    expect(ops(prepared)).toEqual(['Reshape']);
    expect([...prepared.initializers.keys()]).toEqual(['target']);
    expect(prepared.initializers.get('target')!.data).toEqual(BigInt64Array.of(4n, -1n));
    expect(prepared.values.get('y')!.shape).toEqual([4, 6]);
  });

  it('keeps a dequantised weight as integers and scale', () => {
    const weight: Tensor = { type: 'int8', shape: [3, 3], data: Int8Array.from({ length: 9 }, (_, index) => index) };
    const scale: Tensor = { type: 'float32', shape: [], data: Float32Array.of(0.5) };
    const model = draft({
      output: ['N', 3],
      initializers: { q: weight, scale },
      nodes: [node('DequantizeLinear', ['q', 'scale'], ['w']), node('MatMul', ['x', 'w'], ['y'])],
    });
    const prepared = prepareModel(model);
    expect(ops(prepared)).toEqual(['DequantizeLinear', 'MatMul']);
    expect(prepared.initializers.get('q')).toBe(weight);
  });

  it('makes an output that is a constant an initializer', () => {
    const value = floats(2);
    const prepared = prepareModel(draft({ output: [2], nodes: [node('Constant', [], ['y'], { value })] }));
    expect(prepared.nodes).toEqual([]);
    expect(prepared.initializers.get('y')).toEqual(value);
    expect(evaluateModel(prepared, new Map([['x', floats(1, 3)]])).get('y')).toEqual(value);
  });
});

describe('idle nodes', () => {
  it('drops Identity, Dropout and Cast to the same type, and keeps the output its name', () => {
    const prepared = prepareModel(
      draft({
        output: ['N', 3],
        nodes: [
          node('Identity', ['x'], ['a']),
          node('Relu', ['a'], ['b']),
          node('Dropout', ['b'], ['c', 'mask']),
          node('Cast', ['c'], ['d'], { to: 1 }),
          node('Identity', ['d'], ['y']),
        ],
      }),
    );
    expect(prepared.nodes.map(({ op, inputs, outputs }) => [op, inputs, outputs])).toEqual([['Relu', ['x'], ['y']]]);
    expect([...prepared.values.keys()]).toEqual(['x', 'y']);
  });

  it('keeps an Identity between an input and an output, and for a second output', () => {
    const prepared = prepareModel(draft({ output: ['N', 3], nodes: [node('Identity', ['x'], ['y'])] }));
    expect(ops(prepared)).toEqual(['Identity']);

    const twice = draft({ output: ['N', 3], nodes: [relu, node('Identity', ['y'], ['z'])] });
    const two = prepareModel({
      ...twice,
      outputs: [...twice.outputs, { name: 'z', type: 'float32', shape: ['N', 3] }],
    });
    expect(two.nodes.map(({ op, inputs, outputs }) => [op, inputs, outputs])).toEqual([
      ['Relu', ['x'], ['y']],
      ['Identity', ['y'], ['z']],
    ]);
    const x = floats(1, 3);
    expect(evaluateModel(two, new Map([['x', x]])).get('z')!.data).toEqual(
      (x.data as Float32Array).map((value) => Math.max(0, value)),
    );
  });

  it('renames a producer whose other consumers follow', () => {
    const model = draft({
      output: ['N', 3],
      nodes: [node('Relu', ['x'], ['a']), node('Identity', ['a'], ['y']), node('Neg', ['a'], ['z'])],
    });
    const prepared = prepareModel({
      ...model,
      outputs: [...model.outputs, { name: 'z', type: 'float32', shape: [null, 3] }],
    });
    expect(prepared.nodes.map(({ inputs, outputs }) => [inputs, outputs])).toEqual([
      [['x'], ['y']],
      [['y'], ['z']],
    ]);
  });

  it('keeps all outputs of Split, whose number says how it splits', () => {
    const prepared = prepareModel(
      draft({ input: [6], output: [2], nodes: [node('Split', ['x'], ['y', 'b', 'c'], { axis: 0 })] }),
    );
    const x = floats(6);
    expect(evaluateModel(prepared, new Map([['x', x]])).get('y')!.data).toEqual((x.data as Float32Array).slice(0, 2));
  });

  it('blanks the outputs of other nodes that nobody reads', () => {
    const pool = node('MaxPool', ['x'], ['y', 'indices'], { kernel_shape: [2] });
    const prepared = prepareModel(draft({ input: [1, 1, 4], output: [1, 1, 3], nodes: [pool] }));
    expect(prepared.nodes[0]!.outputs).toEqual(['y']);
  });

  it('drops what no output needs', () => {
    const prepared = prepareModel(
      draft({
        output: ['N', 3],
        initializers: { w: floats(3, 3) },
        nodes: [node('MatMul', ['x', 'w'], ['dead']), relu],
      }),
    );
    expect(ops(prepared)).toEqual(['Relu']);
    expect(prepared.initializers.size).toBe(0);
  });
});

describe('contradictions', () => {
  const w45 = floats(4, 5);
  it.each<[what: string, draft: Draft, message: RegExp]>([
    [
      'Gemm over K',
      { output: [null, 5], initializers: { w: w45 }, nodes: [node('Gemm', ['x', 'w'], ['y'])] },
      /"Gemm of x w" \(Gemm\) contracts 3 columns against 4 rows; its inputs have the shapes \[1, 3\] \[4, 5\]/,
    ],
    [
      'MatMul over K',
      { output: [null, 5], initializers: { w: w45 }, nodes: [node('MatMul', ['x', 'w'], ['y'])] },
      /contracts 3 columns against 4 rows/,
    ],
    [
      'Add',
      { output: [null, 5], initializers: { w: w45 }, nodes: [node('Add', ['x', 'w'], ['y'])] },
      /cannot broadcast 5 against 3 in axis 1/,
    ],
    [
      'Reshape',
      { output: [7], initializers: { s: int64s([7]) }, nodes: [node('Reshape', ['x', 's'], ['y'])] },
      /asks for the shape \[7\] of 3 elements/,
    ],
    [
      'Concat',
      { output: [null, 5], initializers: { w: w45 }, nodes: [node('Concat', ['x', 'w'], ['y'], { axis: 1 })] },
      /cannot join/,
    ],
    [
      'Conv channels',
      {
        input: [1, 2, 5, 5],
        output: [1, 3, 5, 5],
        initializers: { w: floats(3, 4, 1, 1) },
        nodes: [node('Conv', ['x', 'w'], ['y'])],
      },
      /has 2 input channels; the weight and 1 groups ask for 4/,
    ],
    [
      'Conv window',
      {
        input: [1, 2, 2, 5],
        output: [1, 3, 5, 5],
        initializers: { w: floats(3, 2, 3, 3) },
        nodes: [node('Conv', ['x', 'w'], ['y'])],
      },
      /window of 3 over 2 padded elements in spatial axis 0/,
    ],
    [
      'Conv rank',
      { output: [1, 3], initializers: { w: floats(3, 2, 3, 3) }, nodes: [node('Conv', ['x', 'w'], ['y'])] },
      /weight of 4 dimensions for an input of 2/,
    ],
    [
      'BatchNormalization',
      {
        output: [1, 3],
        initializers: { a: floats(4) },
        nodes: [node('BatchNormalization', ['x', 'a', 'a', 'a', 'a'], ['y'])],
      },
      /parameter \(input 1\) that is not \[3\]/,
    ],
    [
      'an axis',
      { output: [1, 3], nodes: [node('Softmax', ['x'], ['y'], { axis: 2 })] },
      /has axis 2; its input has 2 dimensions/,
    ],
    [
      'Split',
      {
        output: [1, 1],
        initializers: { s: int64s([1, 1]) },
        nodes: [node('Split', ['x', 's'], ['y', 'z'], { axis: 1 })],
      },
      /splits side 3 of axis 1 into \[1, 1\]/,
    ],
    [
      'Squeeze',
      { output: [1], initializers: { s: int64s([1]) }, nodes: [node('Squeeze', ['x', 's'], ['y'])] },
      /squeezes axis 1 of side 3/,
    ],
    [
      'Pad',
      { output: [1, 1], initializers: { s: int64s([0, -2, 0, -2]) }, nodes: [node('Pad', ['x', 's'], ['y'])] },
      /pads side 3 of axis 1 to -1/,
    ],
    [
      'the declared output',
      { output: [null, 4], nodes: [relu] },
      /output "y" is declared \[\?, 4\]; the nodes give \[1, 3\]/,
    ],
    [
      'a giant',
      { output: [null], initializers: { s: int64s([2 ** 30, 2 ** 10]) }, nodes: [node('Expand', ['x', 's'], ['y'])] },
      /cannot broadcast|at most/,
    ],
  ])('%s', (_, faulty, message) => {
    const error = failure(draft(faulty));
    expect(error.code).toBe('ONNX_SHAPE_MISMATCH');
    expect(error.message).toMatch(message);
  });

  it('says which open dimension was taken as 1', () => {
    const window = failure(
      draft({
        input: ['T', 3, 2],
        output: [null, 2, 2],
        initializers: { w: floats(2, 3, 4) },
        nodes: [node('Conv', ['x', 'w'], ['y'])],
      }),
    );
    expect(window.message).toContain('The open dimension "T" was taken as 1');
    expect(window.mend).toContain('--dim T=value');
  });

  it.each<[what: string, draft: Draft, message: RegExp]>([
    [
      'mixed types',
      { output: [1, 3], initializers: { w: int64s([3]) }, nodes: [node('Add', ['x', 'w'], ['y'])] },
      /mixes operands of float32 and int64/,
    ],
    ['a missing input', { output: [1, 3], nodes: [node('Add', ['x'], ['y'])] }, /lacks its input 1/],
    [
      'a wrong attribute',
      { output: [1, 3], nodes: [node('Softmax', ['x'], ['y'], { axis: 'last' })] },
      /attribute "axis" that is no number/,
    ],
    [
      'too many outputs',
      { output: [1, 3], nodes: [node('Relu', ['x'], ['y', 'z'])] },
      /has 2 outputs; the operator gives 1/,
    ],
    [
      'an axis twice',
      { output: [1, 3], initializers: { s: int64s([0, -2]) }, nodes: [node('Squeeze', ['x', 's'], ['y'])] },
      /names axis 0 twice/,
    ],
  ])('%s', (_, faulty, message) => {
    const error = failure(draft(faulty));
    expect(error.code).toBe('ONNX_INVALID');
    expect(error.message).toMatch(message);
  });
});

describe('unsupportedNodes', () => {
  const model = draft({
    output: ['N', 3],
    nodes: [
      node('Attend', ['x'], ['a']),
      node('FusedGelu', ['a'], ['b'], {}, 'com.acme'),
      node('Relu', ['b'], ['c']),
      node('Gelu', ['x'], ['d']),
      node('LeakyRelu', ['x'], ['g'], { alhpa: 0.5 }),
      node('Reshape', ['x', 'x64'], ['e']),
      node('Cast', ['x'], ['x64'], { to: 7 }),
      node('BatchNormalization', ['x', 'w', 'w', 'w', 'w'], ['f'], { training_mode: 1 }),
      node('Add', ['c', 'd'], ['y']),
    ].sort((left, right) => Number(right.op === 'Cast') - Number(left.op === 'Cast')),
    initializers: { w: floats(3) },
  });

  it('lists every node once, with reason and mend', () => {
    const list = unsupportedNodes(model);
    expect(list.map(({ op, reason }) => [op, reason])).toEqual([
      ['Attend', 'the operator Attend is not known'],
      ['FusedGelu', 'the operator domain "com.acme" is not known'],
      ['Gelu', 'the operator Gelu exists since opset 20; the model has opset 17'],
      ['LeakyRelu', 'it has "alhpa", no attribute of LeakyRelu'],
      ['Reshape', 'its input 1 ("x64") decides a shape and is computed from the model\'s inputs'],
      ['BatchNormalization', 'it is in training mode and normalises by the statistics of the batch'],
    ]);
    for (const { mend } of list) expect(mend).toMatch(/^[A-Z].*\.$/);
  });

  it('is what prepareModel throws, in one error', () => {
    const error = failure(model);
    expect(error.code).toBe('ONNX_NODE_UNSUPPORTED');
    expect(error.message.split('\n')).toHaveLength(7);
    expect(error.meta['nodes']).toEqual(unsupportedNodes(model));
  });

  it('is empty for a supported model, and takes open dimensions as 1', () => {
    expect(unsupportedNodes(draft({ input: ['N', 'T'], output: [null, null], nodes: [relu] }))).toEqual([]);
  });
});

describe('evaluateModel', () => {
  const prepared = prepareModel(draft({ output: ['N', 3], nodes: [relu] }));
  it.each<[what: string, inputs: [string, Tensor][], message: RegExp]>([
    ['nothing', [], /input "x" is missing; expected float32 \[1, 3\]/],
    ['another shape', [['x', floats(3)]], /is float32 \[3\] with 3 elements; expected float32 \[1, 3\]/],
    ['another type', [['x', int64s([1, 2, 3])]], /is int64/],
    ['too few elements', [['x', { ...floats(2), shape: [1, 3] }]], /with 2 elements/],
    [
      'another name',
      [
        ['x', floats(1, 3)],
        ['z', floats(1)],
      ],
      /no input "z"; it has "x"/,
    ],
  ])('refuses %s', (_, inputs, message) => {
    expect(() => evaluateModel(prepared, new Map(inputs))).toThrow(message);
  });

  it('refuses an integer division by zero', () => {
    const division = {
      ...draft({
        output: [3],
        nodes: [
          node('Cast', ['x'], ['i'], { to: 6 }),
          node('Div', ['i', 'i'], ['q']),
          node('Cast', ['q'], ['y'], { to: 1 }),
        ],
        input: [3],
      }),
    };
    expect(() =>
      evaluateModel(prepareModel(division), new Map([['x', { ...floats(3), data: new Float32Array(3) }]])),
    ).toThrow(/divides an integer by zero/);
  });
});
