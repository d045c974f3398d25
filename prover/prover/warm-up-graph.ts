/** A network of a few thousand cells with every kind of step that a proof has: what a prover warms up on. */
import { GraphBuilder } from '../../graph/integer/builder.js';
import type { IntegerGraph } from '../../graph/integer/types.js';

const SIDE = 16;
const CHANNELS = 8;

/** Input [1, 16, 16] of bytes; convolution, requantisation, maximum, dense layer. */
export function warmUpGraph(): IntegerGraph {
  const builder = new GraphBuilder();
  const weights = (count: number): Int8Array => Int8Array.from({ length: count }, (_, i) => ((7 * i) % 15) - 7);
  const image = builder.addInput('image', [1, SIDE, SIDE], { lo: 0, hi: 255 }, 1, 0);
  const window = { strides: [1, 1], dilations: [1, 1], pads: [1, 1, 1, 1] } as const;
  const features = builder.add({
    kind: 'conv',
    name: 'conv',
    x: image,
    window: { ...window, kernel: [3, 3] },
    groups: 1,
    outChannels: CHANNELS,
    weight: weights(9 * CHANNELS),
    bias: null,
  });
  const multipliers = Int32Array.of(2 ** 18);
  const { lo, hi } = builder.quotientRange(features, multipliers, null);
  const activations = builder.add({
    kind: 'requant',
    name: 'relu',
    x: features,
    multipliers,
    channelAxis: null,
    table: { kind: 'clamp', qLo: lo, qHi: hi, lo: 0, hi: 255 },
  });
  const pooled = builder.add({
    kind: 'maxPool',
    name: 'pool',
    x: activations,
    window: { kernel: [2, 2], strides: [2, 2], dilations: [1, 1], pads: [0, 0, 0, 0] },
  });
  const inFeatures = (CHANNELS * SIDE * SIDE) / 4;
  const flat = builder.add({ kind: 'reshape', name: 'flatten', x: pooled }, { shape: [inFeatures] });
  const scores = builder.add({
    kind: 'matmul',
    name: 'dense',
    x: flat,
    inFeatures,
    outFeatures: 10,
    weight: weights(10 * inFeatures),
    bias: null,
  });
  return builder.finish('warm-up', [scores]);
}
