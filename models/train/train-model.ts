import type { Examples, Part } from '../data/dataset.js';
import { loadIris } from '../data/iris.js';
import { loadMnist } from '../data/mnist.js';
import { SeededRandom } from '../random.js';
import { countCorrect, fit, predict } from './fit.js';
import type { Layer } from './layer.js';
import { OnnxGraphWriter } from './onnx-graph-writer.js';
import type { Recipe } from './recipes.js';

export interface TrainedModel {
  /** The ONNX file. */
  readonly bytes: Uint8Array;
  /** Up to the logits, every weight rounded to float32. */
  readonly network: Layer;
}

/**
 * Trains one model by its recipe and writes it as ONNX. Deterministic: the same recipe gives the same bytes on the
 * same version of Node (whose Math.exp, log, cos and tanh are part of the arithmetic).
 * @param onEpoch gets the mean loss of each epoch and how much of the calibration part is classified right.
 */
export function trainModel(
  name: string,
  recipe: Recipe,
  onEpoch: (epoch: number, meanLoss: number, calibrationCorrect: number, calibrationCount: number) => void,
): TrainedModel {
  const load = (part: Part): Examples => (recipe.dataset === 'mnist' ? loadMnist(part) : loadIris(part));
  let train = load('train');
  let calibration = load('calibration');
  const { layers: network, standardisedInto } = recipe.build(new SeededRandom(recipe.seed));
  const moments = standardisedInto === null ? null : featureMoments(train);
  if (moments !== null) {
    train = standardise(train, moments);
    calibration = standardise(calibration, moments);
  }
  fit(network, train, recipe.fit, (epoch, meanLoss) =>
    onEpoch(epoch, meanLoss, countCorrect(predict(network, calibration), calibration.labels), calibration.count),
  );
  if (standardisedInto !== null && moments !== null) standardisedInto.foldStandardisation(moments);
  for (const { value } of [...network.parameters, ...network.statistics]) {
    for (let i = 0; i < value.length; i++) value[i] = Math.fround(value[i]!);
  }
  return { bytes: writeNetwork(name, recipe, network), network };
}

function writeNetwork(name: string, recipe: Recipe, network: Layer): Uint8Array {
  const writer = new OnnxGraphWriter();
  const logits = network.write(writer, recipe.input.name);
  if (recipe.output === 'probabilities') writer.node('Softmax', 'softmax', [logits], { axis: 1 });
  return writer.finish(name, recipe.input, { name: recipe.output, shape: network.outputShape });
}

/** Mean and standard deviation of each feature. */
export interface FeatureMoments {
  readonly mean: Float64Array;
  readonly deviation: Float64Array;
}

function featureMoments({ count, shape, values }: Examples): FeatureMoments {
  const features = shape[0]!;
  const mean = new Float64Array(features);
  const deviation = new Float64Array(features);
  for (let i = 0; i < values.length; i++) mean[i % features]! += values[i]! / count;
  for (let i = 0; i < values.length; i++) deviation[i % features]! += (values[i]! - mean[i % features]!) ** 2 / count;
  return { mean, deviation: deviation.map(Math.sqrt) };
}

function standardise(examples: Examples, { mean, deviation }: FeatureMoments): Examples {
  const features = mean.length;
  const values = examples.values.map((value, i) => (value - mean[i % features]!) / deviation[i % features]!);
  return { ...examples, values };
}
