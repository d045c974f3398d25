/**
 * A model of more than 100 million multiply-accumulates for the suites that ask what a deep graph costs: the residual
 * network of 56 layers for 32 x 32 images (He et al., "Deep Residual Learning for Image Recognition", 2016, section 4.2)
 * without batch normalisation, with projections where a stage begins, and with random weights. What its numbers mean is
 * nobody's matter here; shapes and operators are those of a real one.
 */
import { compileModel, encodeInputs, readOnnx, type Bundle, type Tensor } from '../graph/index.js';
import { SeededRandom } from '../models/random.js';
import { OnnxGraphWriter } from '../models/train/onnx-graph-writer.js';

export const RESIDUAL_NETWORK = 'resnet56-random';

const SIDE = 32;
const CLASSES = 10;
/** Channels of the three stages, each of nine blocks of two convolutions. */
const STAGES = [16, 32, 64];
const BLOCKS = 9;
const SEED = 56;
/** Inputs that ranges are chosen from: random pixels are much alike. */
const SAMPLES = 2;

/** The model as a file. */
export function residualNetwork(): Uint8Array {
  const random = new SeededRandom(SEED);
  const writer = new OnnxGraphWriter();
  const weights = (name: string, shape: readonly number[], scale: number): string => {
    const size = shape.reduce((product, side) => product * side, 1);
    return writer.constant(
      name,
      shape,
      Float64Array.from({ length: size }, () => scale * random.normal()),
    );
  };
  const convolution = (name: string, x: string, from: number, to: number, kernel: number, stride: number): string => {
    const pad = (kernel - 1) / 2;
    // Half the variance that keeps the signal's size: the sums of 27 blocks stay within reach of 8 bits.
    const w = weights(`${name}.w`, [to, from, kernel, kernel], Math.sqrt(1 / (from * kernel * kernel)));
    return writer.node('Conv', name, [x, w, weights(`${name}.b`, [to], 0.1)], {
      kernel_shape: [kernel, kernel],
      strides: [stride, stride],
      pads: [pad, pad, pad, pad],
    });
  };
  const relu = (name: string, x: string): string => writer.node('Relu', name, [x]);
  let channels = STAGES[0]!;
  let x = relu('stem.relu', convolution('stem', 'image', 3, channels, 3, 1));
  STAGES.forEach((wide, stage) => {
    for (let block = 0; block < BLOCKS; block++) {
      const name = `stage${stage}.block${block}`;
      const stride = wide === channels ? 1 : 2;
      const first = relu(`${name}.relu1`, convolution(`${name}.conv1`, x, channels, wide, 3, stride));
      const second = convolution(`${name}.conv2`, first, wide, wide, 3, 1);
      const skip = stride === 1 ? x : convolution(`${name}.skip`, x, channels, wide, 1, stride);
      x = relu(`${name}.relu2`, writer.node('Add', `${name}.add`, [second, skip]));
      channels = wide;
    }
  });
  const pooled = writer.node('GlobalAveragePool', 'pool', [x]);
  const flat = writer.node('Flatten', 'flatten', [pooled], { axis: 1 });
  writer.node(
    'Gemm',
    'classify',
    [flat, weights('classify.w', [CLASSES, channels], 0.1), weights('classify.b', [CLASSES], 0.1)],
    {
      transB: 1,
    },
  );
  return writer.finish(
    RESIDUAL_NETWORK,
    { name: 'image', shape: [3, SIDE, SIDE] },
    { name: 'logits', shape: [CLASSES] },
  );
}

/** Random pixels of one image. */
function randomImages(count: number): ReadonlyMap<string, Tensor>[] {
  const random = new SeededRandom(SEED + 1);
  return Array.from({ length: count }, () => {
    const data = Float32Array.from({ length: 3 * SIDE * SIDE }, () => random.uniform());
    return new Map([['image', { type: 'float32', shape: [1, 3, SIDE, SIDE], data }]]);
  });
}

/** Every slot committed. */
export const compiledResidualNetwork = (): Bundle =>
  compileModel(readOnnx(residualNetwork(), RESIDUAL_NETWORK), {
    calibration: randomImages(SAMPLES),
    calibrationMethod: 'max',
  });

/** A batch of random images as integers. */
export function residualNetworkBatch(bundle: Bundle, items: number): Int32Array[] {
  const encoded = randomImages(items).map((sample) => encodeInputs(bundle, sample).values[0]!);
  return [Int32Array.from(encoded.flatMap((values) => [...values]))];
}
