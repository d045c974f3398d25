/** The whole model, node by node, into the integer graph. */
import { OPERAND_LIMIT, type IntegerGraph, type TensorId } from '../integer/types.js';
import type { OnnxModel } from '../onnx/model.js';
import type { NodeReport } from '../bundle/report.js';
import type { Port } from '../bundle/types.js';
import { isBatched } from './batch-axis.js';
import { chooseRange, saturationShare } from './choose-range.js';
import type { Lowering } from './lowering.js';
import { tensorValue } from './lowering.js';
import { OPERATORS } from './lower/index.js';
import { wholeShape } from './value.js';

export interface LoweredModel {
  readonly graph: IntegerGraph;
  readonly inputs: readonly Port[];
  readonly outputs: readonly Port[];
  readonly nodes: readonly NodeReport[];
}

export function lowerModel(
  lowering: Lowering,
  source: OnnxModel,
  onNode: (done: number, total: number) => void,
): LoweredModel {
  const { model } = lowering;
  const inputs = model.inputs.map((input) => lowerInput(lowering, source, input.name));
  const nodes = model.nodes.map((node, index) => {
    const loweredTo = OPERATORS.get(node.op)!.lower(node, lowering);
    onNode(index + 1, model.nodes.length);
    return { node: node.name, op: node.op, loweredTo };
  });
  const inputIds = inputs.map(({ id }) => id);
  const values = model.outputs.map((output) => lowering.value(output.name));
  const outputIds = lowering.publish(values, inputIds);
  const outputs = model.outputs.map(({ name, type }, i): Port => ({
    name,
    type,
    shape: [...wholeShape(values[i]!)],
    batched: values[i]!.batched,
  }));
  const graph = lowering.builder.finish(model.name === '' ? 'model' : model.name, outputIds);
  const tensors = graph.tensors.map((tensor, id) => ({ ...tensor, ...lowering.outputMetadata.get(id) }));
  return { graph: { ...graph, tensors }, inputs: inputs.map(({ port }) => port), outputs, nodes };
}

/** Ranges of element types that hold integers of 8 bits or fewer. */
const BYTE_RANGES: Readonly<Record<string, readonly [number, number]>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  bool: [0, 1],
};

function lowerInput(lowering: Lowering, source: OnnxModel, name: string): { id: TensorId; port: Port } {
  const { model } = lowering;
  const { type, shape } = model.values.get(name)!;
  const batched = isBatched(source, model, name);
  const item = batched ? shape.slice(1) : shape;
  const quantisation = lowering.facts.inputQuantisation.get(name);
  const bytes = BYTE_RANGES[type];
  const statistics = lowering.statistics.get(name)!;
  const port: Port = { name, type, shape: [...shape], batched };
  const add = (
    scale: number,
    lo: number,
    hi: number,
    zeroPoint: number,
    calibration: string,
  ): { id: TensorId; port: Port } => {
    const id = lowering.input(name, item, { lo, hi }, scale, zeroPoint);
    lowering.values.set(name, tensorValue(lowering.tensorBase(id, name, scale, 'stored'), batched, zeroPoint));
    const share = saturationShare(statistics.bins(), scale, lo + zeroPoint, hi + zeroPoint);
    lowering.tensorReports.push({
      tensor: lowering.builder.tensor(id).name,
      calibration,
      scale,
      saturationShare: share,
      lo,
      hi,
    });
    return { id, port };
  };
  if (bytes !== undefined) {
    const zeroPoint = quantisation?.zeroPoint[0] ?? 0;
    return add(1, bytes[0] - zeroPoint, bytes[1] - zeroPoint, zeroPoint, 'integers of the model');
  }
  const quantisedTo = quantisation === undefined ? undefined : BYTE_RANGES[quantisation.type];
  if (quantisation !== undefined && quantisedTo !== undefined) {
    const zeroPoint = quantisation.zeroPoint[0]!;
    return add(quantisation.scale[0]!, quantisedTo[0] - zeroPoint, quantisedTo[1] - zeroPoint, 0, 'fixed by the model');
  }
  const integral = type.startsWith('int') || type.startsWith('uint');
  const reach = Math.max(-statistics.min, statistics.max);
  if (integral && reach <= OPERAND_LIMIT) {
    // The power of two above what was seen, and at least a byte's.
    const limit = Math.min(OPERAND_LIMIT, Math.max(256, 2 ** Math.ceil(Math.log2(reach + 1))));
    return add(1, statistics.min >= 0 ? 0 : -limit, limit === OPERAND_LIMIT ? limit : limit - 1, 0, 'integers as seen');
  }
  const boundLo = statistics.min >= 0 ? 0 : -Infinity;
  const { activationBits: bits, method } = lowering.settings;
  const range = chooseRange(statistics, { bits, method, boundLo, boundHi: Infinity });
  if (integral)
    lowering.warn(
      name,
      `its integers reach ${reach}, more than 2^11: they are rounded to ${bits} bits, in steps of ${range.scale.toPrecision(3)}`,
    );
  return add(range.scale, range.lo, range.hi, 0, range.calibration);
}
