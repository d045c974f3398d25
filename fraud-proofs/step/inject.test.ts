import { describe, expect, it } from 'vitest';
import { evaluateGraph } from '../../graph/index.js';
import { randomGraph, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { FullTrace } from '../nodes/full-trace.js';
import { tamperTrace } from './inject.js';
import { StepModel } from './step-model.js';
import { bundleOf } from './testing/test-claims.js';

const test = randomGraph(seededRandom(4));
const model = new StepModel(bundleOf(test.graph));
const values = evaluateGraph(test.graph, test.inputs, test.items);
const honest = new FullTrace(
  model,
  model.slots.map((id) => values[id]!),
  test.items,
);
const first = test.graph.inputs.length;
const delta = honest.slots[first]![0]! < model.infoOfSlot(first).range.hi ? 1 : -1;

describe('tamperTrace', () => {
  it('changes one element; what lies behind follows it or stays', () => {
    const lie = { at: { slot: first }, element: 0, delta };
    const sloppy = tamperTrace(model, test.inputs, test.items, { ...lie, downstream: false });
    expect(sloppy.is - sloppy.was).toBe(delta);
    const differing = sloppy.trace.slots.flatMap((data, slot) =>
      [...data].flatMap((v, i) => (v === honest.slots[slot]![i] ? [] : [`${slot}/${i}`])),
    );
    expect(differing).toEqual([`${first}/0`]);
    const clever = tamperTrace(model, test.inputs, test.items, { ...lie, downstream: true });
    expect(clever.trace.slots[first]).toEqual(sloppy.trace.slots[first]);
    expect(clever.trace.slots.slice(0, first)).toEqual(honest.slots.slice(0, first));
  });

  it('takes an operator by number or name, and then the slot that is computed from it', () => {
    const [node] = test.graph.nodes;
    const byNumber = tamperTrace(model, test.inputs, test.items, {
      at: { op: 0 },
      element: 0,
      delta,
      downstream: false,
    });
    const byName = tamperTrace(model, test.inputs, test.items, {
      at: { op: node!.name },
      element: 0,
      delta,
      downstream: false,
    });
    expect(byName.slot).toBe(byNumber.slot);
    expect(byNumber.slot).toBeGreaterThanOrEqual(first);
  });

  it.each([
    ['an input', { at: { slot: 0 }, element: 0, delta: 1, downstream: false }],
    ['no slot', { at: { slot: 4711 }, element: 0, delta: 1, downstream: false }],
    ['no operator', { at: { op: 'nothing' }, element: 0, delta: 1, downstream: false }],
    ['no element', { at: { slot: first }, element: 10 ** 6, delta: 1, downstream: false }],
    ['no change', { at: { slot: first }, element: 0, delta: 0, downstream: false }],
    ['more than the encoding holds', { at: { slot: first }, element: 0, delta: 2 ** 33, downstream: false }],
  ])('refuses %s', (_, lie) => {
    expect(() => tamperTrace(model, test.inputs, test.items, lie)).toThrow(
      expect.objectContaining({ code: 'TAMPER_INVALID' }),
    );
  });
});
