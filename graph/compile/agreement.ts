/** Float against integer over a set of samples. */
import { AssayError } from '../../common/errors.js';
import type { AgreementReport } from '../bundle/report.js';
import { decodeOutputs, encodeInputs } from '../bundle/ports.js';
import type { Bundle } from '../bundle/types.js';
import { evaluateGraph } from '../integer/evaluate.js';
import { float64sOf } from '../onnx/numbers.js';
import type { Tensor } from '../tensor.js';
import type { FloatOutputs } from './calibrate.js';
import type { CompileOptions, Samples } from './options.js';

/** Index of the largest element in each row of the last axis. */
function labels(values: Float64Array, width: number): number[] {
  const rows = values.length / width;
  return Array.from({ length: rows }, (_, row) => {
    const slice = values.subarray(row * width, (row + 1) * width);
    return slice.reduce((best, x, i) => (x > slice[best]! ? i : best), 0);
  });
}

/**
 * @param reference the float model's outputs, one map per sample.
 * @param quantised whether integer differences are counted, against the oracle where there is one.
 */
export function measureAgreement(
  bundle: Bundle,
  samples: Samples,
  reference: FloatOutputs,
  quantised: boolean,
  oracle: CompileOptions['oracle'],
  onSample: (done: number) => void,
): AgreementReport {
  const last = bundle.outputs.map((port) => port.shape.at(-1) ?? 1);
  const labelled = last.some((width) => width > 1);
  let agreeing = 0;
  let elements = 0;
  let largest = 0;
  let total = 0;
  let differing = 0;
  let maxUnits = 0;
  samples.forEach((sample, index) => {
    const { values, items } = encodeInputs(bundle, sample);
    const tensors = evaluateGraph(bundle.graph, values, items);
    const found = decodeOutputs(
      bundle,
      bundle.graph.outputs.map((id) => tensors[id]!),
      items,
    );
    const oracleOutputs = quantised ? (oracle?.(sample) ?? reference[index]!) : null;
    let same = true;
    bundle.outputs.forEach((port, i) => {
      const integer = float64sOf(found.get(port.name)!);
      const float = float64sOf(reference[index]!.get(port.name)!);
      const width = last[i]!;
      if (width > 1) same &&= labels(integer, width).every((label, row) => label === labels(float, width)[row]);
      integer.forEach((x, element) => {
        const error = Math.abs(x - float[element]!);
        largest = Math.max(largest, error);
        total += error;
      });
      elements += integer.length;
      if (oracleOutputs === null) return;
      const { scale } = bundle.graph.tensors[bundle.graph.outputs[i]!]!;
      const expected = oracleElements(oracleOutputs, port.name, integer.length, index);
      integer.forEach((x, element) => {
        const units = Math.round(Math.abs(x - expected[element]!) / scale);
        if (units > 0) differing++;
        maxUnits = Math.max(maxUnits, units);
      });
    });
    if (same) agreeing++;
    onSample(index + 1);
  });
  return {
    samples: samples.length,
    labelAgreement: labelled ? agreeing / samples.length : null,
    maxAbsError: largest,
    meanAbsError: elements === 0 ? 0 : total / elements,
    ...(quantised ? { integerDifferences: { elements, differing, maxUnits } } : {}),
  };
}

function oracleElements(
  outputs: ReadonlyMap<string, Tensor>,
  name: string,
  length: number,
  sample: number,
): Float64Array {
  const tensor = outputs.get(name);
  if (tensor?.data.length === length) return float64sOf(tensor);
  throw new AssayError(
    'CALIBRATION_INVALID',
    `the oracle gives ${tensor === undefined ? 'nothing' : `${tensor.data.length} elements`} for output '${name}' of sample ${sample}, expected ${length} elements`,
    { meta: { tensor: name, sample } },
  );
}
