/** Comparison, logic and selection. */
import { sizeOf } from '../../tensor.js';
import type { Tensor } from '../../tensor.js';
import { newArray } from '../tensor-proto.js';
import { commonType, predicate } from './elementwise.js';
import { broadcastIndices, broadcastShapes } from './indexing.js';
import type { Operator } from './operator.js';

const NOT: Operator = {
  op: 'Not',
  sinceOpset: 7,
  infer: (application) => {
    const { type, shape } = application.input(0);
    if (type !== 'bool') throw application.invalid(`has ${type} as its input; expected bool`);
    return [{ type, shape }];
  },
  evaluate: (application) => {
    const x = application.tensor(0);
    return [{ type: 'bool', shape: x.shape, data: (x.data as Uint8Array).map((value) => 1 - value) }];
  },
};

const WHERE: Operator = {
  op: 'Where',
  sinceOpset: 9,
  infer: (application) => {
    const inputs = application.inputs();
    if (inputs.length !== 3) throw application.invalid(`has ${inputs.length} inputs; expected 3`);
    if (inputs[0]!.type !== 'bool') throw application.invalid(`has a condition of ${inputs[0]!.type}; expected bool`);
    const type = commonType(application, inputs.slice(1));
    return [
      {
        type,
        shape: broadcastShapes(
          application,
          inputs.map((input) => input.shape),
        ),
      },
    ];
  },
  evaluate: (application) => {
    const tensors = [0, 1, 2].map((index) => application.tensor(index)) as [Tensor, Tensor, Tensor];
    const shape = broadcastShapes(
      application,
      tensors.map((tensor) => tensor.shape),
    );
    const [ic, ix, iy] = tensors.map((tensor) => broadcastIndices(tensor.shape, shape));
    const [condition, x, y] = tensors.map((tensor) => tensor.data as Uint8Array) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    const type = tensors[1].type;
    const data = newArray(type, sizeOf(shape)) as Uint8Array;
    for (let i = 0; i < data.length; i++) {
      data[i] = condition[ic?.[i] ?? i] !== 0 ? x[ix?.[i] ?? i]! : y[iy?.[i] ?? i]!;
    }
    return [{ type, shape, data }];
  },
};

export const LOGIC: readonly Operator[] = [
  predicate('Equal', 7, (a, b) => a === b),
  predicate('Less', 7, (a, b) => a < b),
  predicate('Greater', 7, (a, b) => a > b),
  predicate('LessOrEqual', 12, (a, b) => a <= b),
  predicate('GreaterOrEqual', 12, (a, b) => a >= b),
  predicate('And', 7, (a, b) => a !== 0 && b !== 0),
  predicate('Or', 7, (a, b) => a !== 0 || b !== 0),
  predicate('Xor', 7, (a, b) => (a !== 0) !== (b !== 0)),
  NOT,
  WHERE,
];
