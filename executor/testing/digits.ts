/** A small convolutional classifier with every part that a real one has, built by hand: quick to make and to run. */
import { GraphBuilder } from '../../graph/index.js';
import type { Bundle } from '../../graph/index.js';
import { bundleOfGraph } from '../graph-bundle.js';

/** Input [1, 8, 8] in 0..127, output [4] accumulators. `seed` decides the weights. */
export function smallClassifier(seed: number, channels = 4): Bundle {
  const builder = new GraphBuilder();
  const x = builder.addInput('image', [1, 8, 8], { lo: 0, hi: 127 }, 1 / 127, 0);
  const conv = builder.add({
    kind: 'conv',
    name: 'conv',
    x,
    window: { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1] },
    groups: 1,
    outChannels: channels,
    weight: weights(channels * 9, seed),
    bias: new Int32Array(channels).fill(5),
  });
  const multipliers = new Int32Array(channels).fill(50_000);
  const q = builder.quotientRange(conv, multipliers, 0);
  const relu = builder.add({
    kind: 'requant',
    name: 'relu',
    x: conv,
    multipliers,
    channelAxis: 0,
    table: { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: 0, hi: 127 },
  });
  const pool = builder.add({
    kind: 'maxPool',
    name: 'pool',
    x: relu,
    window: { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0, 0, 0] },
  });
  const features = channels * 16;
  const flat = builder.add({ kind: 'reshape', name: 'flat', x: pool }, { shape: [features] });
  const logits = builder.add(
    {
      kind: 'matmul',
      name: 'fc',
      x: flat,
      outFeatures: 4,
      inFeatures: features,
      weight: weights(4 * features, seed + 1),
      bias: null,
    },
    { name: 'logits', scale: 1 / 127 ** 2 },
  );
  return bundleOfGraph(builder.finish(`classifier ${seed}`, [logits]));
}

/** `items` inputs, all different. */
export function images(items: number, seed: number): Int32Array[] {
  return [Int32Array.from({ length: items * 64 }, (_, index) => scatter(index, seed) % 128)];
}

function weights(count: number, seed: number): Int8Array {
  return Int8Array.from({ length: count }, (_, index) => (scatter(index, seed) % 255) - 127);
}

function scatter(index: number, seed: number): number {
  const once = Math.imul(index + 1 + seed * 7919, 2654435761) >>> 0;
  return Math.imul(once ^ (once >>> 15), 2246822519) >>> 1;
}
