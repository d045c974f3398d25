/** Which orders are proved together, and in which circuit. */
import { expect, it } from 'vitest';
import { programOf } from '../../circuits/batch/input-root.js';
import type { BatchShape } from '../../circuits/batch/types.js';
import { GraphBuilder, makeBundle, type Bundle } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import { tinyBundle } from '../../test/kill/fixture.js';
import type { WaitingOrder } from '../ports.js';
import { chooseCircuit } from './batch-prover.js';

const tiny = tinyBundle();

/** The same program with other weights: another model. */
function retrained(): Bundle {
  const nodes = tiny.graph.nodes.map((node) =>
    node.kind === 'matmul' ? { ...node, bias: Int32Array.of(1, 1, 1) } : node,
  );
  return makeBundle({ ...tiny, graph: { ...tiny.graph, nodes } });
}

/** Another program. */
function wider(): Bundle {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [4], { lo: -8, hi: 7 }, 1, 0);
  const weight = Int8Array.from({ length: 20 }, (_, i) => i - 9);
  const y = builder.add({ kind: 'matmul', name: 'linear', x, outFeatures: 5, inFeatures: 4, weight, bias: null });
  const outputs = [{ name: 'y', type: 'float32', shape: [1, 5], batched: true }] as const;
  return makeBundle({ ...tiny, graph: builder.finish('wider', [y]), outputs });
}

const other = retrained();
const wide = wider();
const group = (bundle: Bundle, receipts: number) => ({
  program: programOf(bundle.graph),
  receipts,
  itemsPerReceipt: 1,
});
const SHAPES: readonly BatchShape[] = [
  { n: 13, groups: [group(tiny, 3)] },
  { n: 13, groups: [group(wide, 2)] },
  { n: 13, groups: [group(wide, 1), group(tiny, 4)] },
];

let count = 0;
const order = (bundle: Bundle, items = 1): WaitingOrder => ({
  orderHash: `0x${String(count++).padStart(64, '0')}` as Hex,
  bundle,
  items,
});
const namesOf = (choice: ReturnType<typeof chooseCircuit>, orders: readonly WaitingOrder[]) =>
  choice && { ...choice, orders: choice.orders.map((hash) => orders.findIndex(({ orderHash }) => orderHash === hash)) };
const choose = (orders: readonly WaitingOrder[], overdue = false) =>
  namesOf(chooseCircuit(SHAPES, orders, overdue), orders);

it('takes the first orders of a model, and knows when a circuit is full', () => {
  expect(choose([])).toBeNull();
  expect(choose([order(tiny), order(tiny)])).toEqual({ circuit: 0, orders: [0, 1], full: false });
  const four = [order(tiny), order(tiny), order(tiny), order(tiny)];
  expect(choose(four)).toEqual({ circuit: 0, orders: [0, 1, 2], full: true });
});

it('prefers the circuit that takes more, its orders group by group', () => {
  const orders = [order(tiny), order(wide), order(tiny), order(tiny), order(tiny)];
  expect(choose(orders)).toEqual({ circuit: 2, orders: [1, 0, 2, 3, 4], full: true });
});

it('models of one program and other weights do not share a group', () => {
  expect(choose([order(other), order(tiny), order(tiny)])).toEqual({ circuit: 0, orders: [0], full: false });
});

it('orders of other numbers of items, or of no circuit, are not taken', () => {
  expect(choose([order(tiny, 2)])).toBeNull();
});

it('an order that is overdue is not passed over for a larger batch', () => {
  const orders = [order(wide), order(tiny), order(tiny), order(tiny)];
  const alone: readonly BatchShape[] = SHAPES.slice(0, 2);
  expect(namesOf(chooseCircuit(alone, orders, false), orders)).toMatchObject({ circuit: 0 });
  expect(namesOf(chooseCircuit(alone, orders, true), orders)).toEqual({ circuit: 1, orders: [0], full: false });
});
