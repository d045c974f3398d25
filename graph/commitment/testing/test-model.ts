/** A small model that the commitment's tests and vectors share: every field of a descriptor that has a choice occurs. */
import { GraphBuilder } from '../../integer/builder.js';
import type { IdentifiedModel } from '../model-digest.js';

/** image [2, 3, 3] of 0..255 -> conv 2x2 -> clamp -> flatten -> matmul -> logits [3]; and a sigmoid-like table of the logits. */
export function testModel(): IdentifiedModel {
  const builder = new GraphBuilder();
  const x = builder.addInput('image', [2, 3, 3], { lo: 0, hi: 255 }, 1 / 256, 0);
  const window = { kernel: [2, 2], strides: [1, 1], dilations: [1, 1], pads: [0, 0, 0, 0] } as const;
  const weight = Int8Array.from({ length: 16 }, (_, i) => 7 * i - 50);
  const conv = builder.add({
    kind: 'conv',
    name: 'conv',
    x,
    window,
    groups: 1,
    outChannels: 2,
    weight,
    bias: Int32Array.of(300, -70_000),
  });
  const multipliers = Int32Array.of(2 ** 17, 2 ** 18);
  const q = builder.quotientRange(conv, multipliers, 0);
  const y = builder.add({
    kind: 'requant',
    name: 'relu',
    x: conv,
    multipliers,
    channelAxis: 0,
    table: { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: 0, hi: 127 },
  });
  const flat = builder.add({ kind: 'reshape', name: 'flatten', x: y }, { shape: [8] });
  const fc = { kind: 'matmul', name: 'fc', x: flat, inFeatures: 8, outFeatures: 3 } as const;
  const logits = builder.add(
    { ...fc, weight: Int16Array.from({ length: 24 }, (_, i) => 5 * i - 60), bias: null },
    { name: 'logits', scale: 0.125 },
  );
  const scores = builder.add({ ...fc, weight: Int16Array.from({ length: 24 }, (_, i) => 40 * i - 400), bias: null });
  const unit = Int32Array.of(2 ** 12);
  const s = builder.quotientRange(scores, unit, null);
  const values = Int16Array.from({ length: s.hi - s.lo + 1 }, (_, i) =>
    Math.round(255 / (1 + Math.exp(-(i + s.lo) / 4))),
  );
  const table = { kind: 'values', qLo: s.lo, qHi: s.hi, values, label: 'sigmoid' } as const;
  const probability = builder.add(
    { kind: 'requant', name: 'sigmoid', x: scores, multipliers: unit, channelAxis: null, table },
    { name: 'probability', scale: 1 / 255, zeroPoint: 3 },
  );
  return {
    graph: builder.finish('test', [logits, probability]),
    inputs: [{ name: 'Input3', type: 'float32', shape: [1, 2, 3, 3], batched: true }],
    outputs: [
      { name: 'Plus', type: 'float32', shape: [1, 3], batched: true },
      { name: 'Prob', type: 'float32', shape: [1, 3], batched: true },
    ],
  };
}
