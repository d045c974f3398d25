/** The float model over the calibration samples: statistics of every value, and the outputs. */
import { AssayError } from '../../common/errors.js';
import { evaluateModel } from '../onnx/evaluate-model.js';
import { float64sOf } from '../onnx/numbers.js';
import type { PreparedModel } from '../onnx/model.js';
import type { Tensor } from '../tensor.js';
import type { Samples } from './options.js';
import { TensorStatistics } from './statistics.js';

/** The model's outputs for every sample, without keeping anything else. */
export type FloatOutputs = readonly ReadonlyMap<string, Tensor>[];

export interface Calibration {
  readonly statistics: ReadonlyMap<string, TensorStatistics>;
  readonly outputs: FloatOutputs;
}

/** @throws AssayError CALIBRATION_INVALID where a sample makes some value NaN or infinite. */
export function calibrate(model: PreparedModel, samples: Samples, onSample: (done: number) => void): Calibration {
  const names = [...model.inputs.map(({ name }) => name), ...model.nodes.flatMap((node) => node.outputs)].filter(
    (name) => name !== '' && model.values.get(name)!.type !== 'string',
  );
  const statistics = new Map(names.map((name) => [name, new TensorStatistics()]));
  const outputs = samples.map((sample, index) => {
    const values = evaluateModel(model, sample);
    for (const [name, collected] of statistics) {
      const numbers = float64sOf(values.get(name)!);
      if (!numbers.every(Number.isFinite))
        throw new AssayError(
          'CALIBRATION_INVALID',
          `calibration sample ${index} makes tensor '${name}' NaN or infinite`,
          {
            mend: 'Give samples from the range that the model was trained on; if they are, the model is unstable at this tensor.',
            meta: { sample: index, tensor: name },
          },
        );
      collected.add(numbers);
    }
    onSample(index + 1);
    return outputsOf(model, values);
  });
  return { statistics, outputs };
}

/** The float model's outputs for each sample. */
export function floatOutputs(model: PreparedModel, samples: Samples): FloatOutputs {
  return samples.map((sample) => outputsOf(model, evaluateModel(model, sample)));
}

function outputsOf(model: PreparedModel, values: ReadonlyMap<string, Tensor>): ReadonlyMap<string, Tensor> {
  return new Map(model.outputs.map(({ name }) => [name, values.get(name)!]));
}
