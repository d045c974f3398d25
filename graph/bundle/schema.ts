/** Shapes of the JSON in a bundle. They say what is there; validateGraph says whether it makes sense. */
import { z } from 'zod';

const whole = z.number().int();
const count = whole.min(0);
const side = whole.min(1);
const pair = z.tuple([side, side]);
const weight = z.union([z.instanceof(Int8Array), z.instanceof(Int16Array)]);
const int32s = z.instanceof(Int32Array);
const range = z.strictObject({ lo: whole, hi: whole });
const constant = z.strictObject({ shape: z.array(side), data: int32s });
const window = z.strictObject({
  kernel: pair,
  strides: pair,
  dilations: pair,
  pads: z.tuple([count, count, count, count]),
});
const table = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('clamp'), qLo: whole, qHi: whole, lo: whole, hi: whole }),
  z.strictObject({
    kind: z.literal('values'),
    qLo: whole,
    qHi: whole,
    values: z.instanceof(Int16Array),
    label: z.string(),
  }),
]);

const base = { name: z.string(), output: count };
const node = <K extends string, S extends z.ZodRawShape>(kind: K, fields: S) =>
  z.strictObject({ ...base, kind: z.literal(kind), ...fields });

const nodeSchema = z.discriminatedUnion('kind', [
  node('matmul', { x: count, outFeatures: side, inFeatures: side, weight, bias: int32s.nullable() }),
  node('matmulActivations', { a: count, b: count }),
  node('conv', { x: count, window, groups: side, outChannels: side, weight, bias: int32s.nullable() }),
  node('combine', { terms: z.array(z.strictObject({ x: count, coefficient: whole })), bias: constant.nullable() }),
  node('scale', { x: count, factor: constant, bias: constant.nullable() }),
  node('mul', { a: count, b: count }),
  node('sumPool', { x: count, window }),
  node('reduceSum', { x: count, axes: z.array(count) }),
  node('requant', { x: count, multipliers: int32s, channelAxis: count.nullable(), table }),
  node('maxPool', { x: count, window }),
  node('reduceMax', { x: count, axes: z.array(count) }),
  node('argMax', { x: count, axis: count }),
  node('reshape', { x: count }),
  node('transpose', { x: count, permutation: z.array(count) }),
  node('concat', { xs: z.array(count), axis: count }),
  node('slice', { x: count, starts: z.array(count), steps: z.array(whole) }),
  node('pad', { x: count, before: z.array(count), after: z.array(count), value: whole }),
  node('expand', { x: count }),
]);

export const graphSchema = z.strictObject({
  name: z.string(),
  tensors: z.array(
    z.strictObject({
      name: z.string(),
      shape: z.array(side),
      range,
      scale: z.number(),
      zeroPoint: whole,
      layout: z.array(count),
    }),
  ),
  nodes: z.array(nodeSchema),
  inputs: z.array(count),
  outputs: z.array(count),
});

const elementType = z.enum([
  'float32',
  'float64',
  'int8',
  'uint8',
  'int16',
  'uint16',
  'int32',
  'uint32',
  'int64',
  'uint64',
  'bool',
  'float16',
  'bfloat16',
  'string',
]);
const port = z.strictObject({ name: z.string(), type: elementType, shape: z.array(side), batched: z.boolean() });

const hash = z.string().regex(/^0x[0-9a-f]{64}$/, 'must be 0x and 64 hex digits');

export const metaSchema = z.strictObject({
  inputs: z.array(port),
  outputs: z.array(port),
  sourceHash: hash,
  modelKeyHash: hash.optional(),
  committedSlots: z.array(count).optional(),
});

const agreement = z.strictObject({
  samples: count,
  labelAgreement: z.number().nullable(),
  maxAbsError: z.number(),
  meanAbsError: z.number(),
  integerDifferences: z.strictObject({ elements: count, differing: count, maxUnits: z.number() }).optional(),
});

export const reportSchema = z.strictObject({
  modelName: z.string(),
  opset: whole,
  parameters: count,
  macs: count,
  nodes: z.array(z.strictObject({ node: z.string(), op: z.string(), loweredTo: z.string() })),
  tensors: z.array(
    z.strictObject({
      tensor: z.string(),
      calibration: z.string(),
      scale: z.number(),
      saturationShare: z.number(),
      lo: whole,
      hi: whole,
    }),
  ),
  calibration: agreement,
  heldOut: agreement.nullable(),
  tableRows: z.array(z.strictObject({ tensor: z.string(), rows: count })),
  largestAccumulator: z.strictObject({ tensor: z.string(), magnitude: z.number() }),
  warnings: z.array(z.string()),
});
