/**
 * The state of a lowering, and the three things that every operator asks of it: an operand in the form that an
 * integer node may read (`operand`), a stored tensor (`stored`), and a graph output (`publish`).
 */
import { AssayError } from '../../common/errors.js';
import { hull } from '../integer/bounds.js';
import { GraphBuilder } from '../integer/builder.js';
import { operandsOf } from '../integer/operands.js';
import type { NewNode } from '../integer/shapes.js';
import {
  FLOAT32_EXACT_LIMIT,
  ACCUMULATOR_LIMIT,
  OPERAND_LIMIT,
  type IntRange,
  type TensorId,
} from '../integer/types.js';
import { float64sOf } from '../onnx/numbers.js';
import type { OnnxNode, PreparedModel } from '../onnx/model.js';
import type { TensorReport } from '../bundle/report.js';
import { chooseRange, saturationShare, type ChosenRange } from './choose-range.js';
import type { ModelFacts } from './facts.js';
import type { RealConstant } from './numbers.js';
import type { CalibrationMethod } from './options.js';
import { accumulatorBounds, fixedWeights, quantiseBias, quantiseWeights } from './quantise-weights.js';
import { functionBounds, planRequant, type RequantSource } from './requant-table.js';
import type { TensorStatistics } from './statistics.js';
import { compose, gain, gainOf, IDENTITY } from './unary-function.js';
import type { Base, Elementwise, LinearPlan, TensorBase, TensorForm, Value, Wire } from './value.js';

export interface LoweringSettings {
  readonly weightBits: number;
  readonly activationBits: number;
  readonly method: CalibrationMethod;
  readonly accumulator: 'split' | 'float32';
}

/** An integer tensor as an operand; real = scale * integer. */
export interface Operand {
  readonly id: TensorId;
  readonly scale: number;
  readonly range: IntRange;
  readonly form: TensorForm;
}

/**
 * What the operand is for. `product`: a factor of a product, at most 2^11. `linear`: a term of a structured sum, or
 * wiring. `max`: compared with others, so every element must be a stored one.
 */
export type OperandUse = 'product' | 'linear' | 'max';

/** A stored range that is not taken from statistics. */
export interface FixedTarget {
  readonly scale: number;
  readonly lo: number;
  readonly hi: number;
  readonly calibration: string;
  /** True where the scale belongs to the model. */
  readonly fixed: boolean;
  /** Statistics of the real value, for the saturation share; those of the tensor's own name by default. */
  readonly statistics?: TensorStatistics | undefined;
}

export class Lowering {
  readonly builder = new GraphBuilder();
  readonly values = new Map<string, Value>();
  readonly warnings: string[] = [];
  readonly tensorReports: TensorReport[] = [];
  /** Scale and zero point of the graph outputs, which may differ from those under which the tensor was emitted. */
  readonly outputMetadata = new Map<TensorId, { scale: number; zeroPoint: number }>();

  private readonly plans = new Map<LinearPlan, TensorBase>();
  private readonly cells = new Map<Elementwise, TensorBase>();
  private readonly wired = new Map<string, TensorId>();
  private readonly groups = new Map<string, ChosenRange>();
  private readonly names = new Set<string>();
  private readonly readTensors = new Set<TensorId>();

  constructor(
    readonly model: PreparedModel,
    readonly facts: ModelFacts,
    readonly statistics: ReadonlyMap<string, TensorStatistics>,
    readonly settings: LoweringSettings,
  ) {}

  /** True where some graph input has a batch in front. */
  get hasBatch(): boolean {
    return this.model.inputs.some((input) => this.values.get(input.name)?.batched === true);
  }

  /** A value that an earlier node computed, or a graph input. */
  value(name: string): Value {
    const value = this.values.get(name);
    if (value === undefined) throw new AssayError('INTERNAL', `value '${name}' is read before it is lowered`);
    return value;
  }

  /** The same as a real quantity: an integer tensor with a zero point is brought to zero point 0. */
  real(name: string): Value {
    return this.withZeroPoint(this.value(name), 0);
  }

  /** The value with its stored integers counted from another zero point. */
  withZeroPoint(value: Value, zeroPoint: number): Value {
    const shift = value.zeroPoint - zeroPoint;
    if (shift === 0) return value;
    const x = this.operand(value, 'linear');
    const name = `${value.elementwise.name}:zero`;
    const bias = { shape: [], data: Int32Array.of(shift) };
    const id = this.emit({ kind: 'combine', name, terms: [{ x: x.id, coefficient: 1 }], bias }, name, x.scale);
    return tensorValue(this.tensorBase(id, value.elementwise.name, x.scale, 'sum'), value.batched, zeroPoint);
  }

  isConstant(name: string | undefined): name is string {
    return name !== undefined && this.model.initializers.has(name);
  }

  /** A constant in real numbers, with its whole ONNX shape. */
  constant(name: string): RealConstant {
    const tensor = this.model.initializers.get(name);
    if (tensor === undefined) throw new AssayError('INTERNAL', `'${name}' is not a constant`);
    return { shape: tensor.shape, data: float64sOf(tensor) };
  }

  /** True where the value is read once: what follows may be folded into its layer without computing that twice. */
  readOnce(name: string): boolean {
    return this.facts.reads.get(name) === 1;
  }

  warn(node: OnnxNode | string, message: string): void {
    this.warnings.push(`${typeof node === 'string' ? node : node.name}: ${message}`);
  }

  /** Appends an integer node; its tensor is named after the ONNX value where that name is free. */
  emit(node: NewNode, name: string, scale: number, shape?: readonly number[]): TensorId {
    for (const id of operandIds(node)) this.readTensors.add(id);
    return this.builder.add(node, {
      name: this.freeName(name),
      scale: scale > 0 && Number.isFinite(scale) ? scale : 1,
      ...(shape === undefined ? {} : { shape }),
    });
  }

  input(name: string, shape: readonly number[], range: IntRange, scale: number, zeroPoint: number): TensorId {
    return this.builder.addInput(this.freeName(name), shape, range, scale, zeroPoint);
  }

  /** A tensor that an operator emitted, as a base for what follows. */
  tensorBase(id: TensorId, name: string, scale: number, form: TensorForm): TensorBase {
    const shape = this.builder.tensor(id).shape;
    return { kind: 'tensor', name, id, form, shape, scales: Float64Array.of(scale), channelAxis: null };
  }

  /** The value in a form that an integer node may read. */
  operand(value: Value, use: OperandUse, storedOnly = false): Operand {
    const { base, fn } = value.elementwise;
    const factor = gainOf(fn);
    if (base.kind === 'tensor' && factor !== null && base.scales.length === 1 && this.readable(base, use, storedOnly))
      return this.finishOperand(base, factor, value.wires);
    return this.finishOperand(this.cell(value.elementwise), 1, value.wires);
  }

  private readable(base: TensorBase, use: OperandUse, storedOnly: boolean): boolean {
    if (base.form === 'product' || (storedOnly && base.form === 'sum')) return false;
    if (use === 'max') return base.form !== 'sum';
    if (use === 'linear') return true;
    const { lo, hi } = hull(this.builder.channelRanges(base.id));
    return Math.max(-lo, hi) <= OPERAND_LIMIT;
  }

  private finishOperand(base: TensorBase, factor: number, wires: readonly Wire[]): Operand {
    const scale = base.scales[0]! * factor;
    const id = this.applyWires(base.id, wires, base.name, scale);
    return { id, scale, range: this.builder.tensor(id).range, form: base.form };
  }

  /** A stored tensor of the value with a range of the caller's choice; not shared with other readers. */
  storedAs(value: Value, name: string, target: FixedTarget): Operand {
    const statistics = this.statistics.get(value.elementwise.name);
    const cell = this.requantise({ ...value.elementwise, name }, { statistics, ...target });
    return this.finishOperand(cell, 1, value.wires);
  }

  /** Real interval that the value provably keeps, before its function. */
  provedReal(base: Base): { lo: number; hi: number } {
    const tensor = this.emitted(base);
    const source = this.sourceOf(tensor);
    let lo = Infinity;
    let hi = -Infinity;
    source.ranges.forEach((range, i) => {
      const scale = tensor.scales[tensor.scales.length === 1 ? 0 : i]!;
      lo = Math.min(lo, range.lo * scale);
      hi = Math.max(hi, range.hi * scale);
    });
    return { lo, hi };
  }

  /** Statistics that decide the scale of a value. */
  statisticsOf(name: string): TensorStatistics | undefined {
    return this.statistics.get(this.facts.scaleOf.get(name) ?? name) ?? this.statistics.get(name);
  }

  requireStatistics(name: string): TensorStatistics {
    const statistics = this.statisticsOf(name);
    if (statistics === undefined || statistics.count === 0)
      throw new AssayError('INTERNAL', `no calibration statistics for '${name}'`);
    return statistics;
  }

  private cell(elementwise: Elementwise): TensorBase {
    const known = this.cells.get(elementwise);
    if (known !== undefined) return known;
    const cell = this.requantise(elementwise, this.target(elementwise));
    this.cells.set(elementwise, cell);
    return cell;
  }

  private target(elementwise: Elementwise): FixedTarget {
    const { fn, name, base } = elementwise;
    const statistics = this.requireStatistics(name);
    const { activationBits: bits, method } = this.settings;
    const proved = this.provedReal(base);
    const bounds = functionBounds(fn, proved.lo, proved.hi);
    const group = this.facts.scaleOf.get(name);
    if (group === undefined)
      return { ...chooseRange(statistics, { bits, method, boundLo: bounds.lo, boundHi: bounds.hi }), fixed: false };
    // Operands of one Concat share a scale, so that none is requantised twice.
    let shared = this.groups.get(group);
    if (shared === undefined) {
      const boundLo = statistics.min >= 0 ? 0 : -Infinity;
      shared = chooseRange(statistics, { bits, method, boundLo, boundHi: Infinity });
      this.groups.set(group, shared);
    }
    return { ...shared, fixed: false };
  }

  private requantise(elementwise: Elementwise, target: FixedTarget): TensorBase {
    const { fn, name } = elementwise;
    const base = this.emitted(elementwise.base);
    const planned = planRequant(this.sourceOf(base), fn, target);
    const channelAxis = planned.multipliers.length === 1 ? null : base.channelAxis;
    const { multipliers, table, scale } = planned;
    const id = this.emit({ kind: 'requant', name, x: base.id, multipliers, channelAxis, table }, name, scale);
    const tensor = this.builder.tensor(id).name;
    for (const warning of planned.warnings) this.warn(tensor, warning);
    const statistics = 'statistics' in target ? target.statistics : this.statistics.get(name);
    this.tensorReports.push({
      tensor,
      calibration: target.calibration,
      scale,
      saturationShare: statistics === undefined ? 0 : saturationShare(statistics.bins(), scale, target.lo, target.hi),
      lo: target.lo,
      hi: target.hi,
    });
    return this.tensorBase(id, name, scale, 'stored');
  }

  private sourceOf(base: TensorBase): RequantSource {
    const bounds = this.builder.channelRanges(base.id);
    const statistics = this.statistics.get(base.name);
    const seen = statistics === undefined || statistics.count === 0 ? null : { lo: statistics.min, hi: statistics.max };
    const each = Array.from(bounds.lo, (lo, i) => ({ lo, hi: bounds.hi[i]! }));
    const channels = base.scales.length;
    const ranges =
      channels === 1 || bounds.axis === base.channelAxis ? each : new Array<IntRange>(channels).fill(hull(bounds));
    return { ranges, scales: base.scales, seen };
  }

  /** The base as an integer tensor; a linear layer is quantised and emitted on first demand. */
  emitted(base: Base): TensorBase {
    if (base.kind === 'tensor') return base;
    const known = this.plans.get(base);
    if (known !== undefined) return known;
    const emitted = this.emitPlan(base);
    this.plans.set(base, emitted);
    return emitted;
  }

  private emitPlan(plan: LinearPlan): TensorBase {
    const layer = (x: Operand) => {
      const quantised =
        plan.fixed === null
          ? quantiseWeights(
              plan.weight,
              plan.rows,
              plan.perRow,
              plan.bias,
              x.scale,
              this.settings.weightBits,
              this.facts.published.has(plan.name),
            )
          : fixedWeights(plan.fixed.integers, plan.fixed.scales, plan.perRow, plan.bias, x.scale);
      const bias = plan.bias === null ? null : quantiseBias(plan.bias, x.scale, quantised.scales, plan.node);
      return {
        x,
        bias,
        ...quantised,
        bound: accumulatorBounds(quantised.weight, plan.rows, plan.perRow, bias, x.range),
      };
    };
    let made = layer(this.operand(plan.x, 'product'));
    // A sum that is not requantised is wider than a stored tensor; where the accumulator does not bear that, store it.
    if (made.bound.magnitude >= FLOAT32_EXACT_LIMIT) made = layer(this.operand(plan.x, 'product', true));
    const limit = this.settings.accumulator === 'float32' ? FLOAT32_EXACT_LIMIT : ACCUMULATOR_LIMIT;
    if (made.bound.magnitude >= limit) throw accumulatorError(plan, made.bound, limit);
    if (made.bound.magnitude >= FLOAT32_EXACT_LIMIT)
      this.warn(plan.node, `its accumulator may reach ${made.bound.magnitude}, 2^24 or more: engines sum it in parts`);
    const { weight, bias } = made;
    const scales = made.scales.map((s) => s * made.x.scale);
    const name = plan.name;
    const { rows, perRow, geometry } = plan;
    const x = made.x.id;
    const scale = scales.reduce((sum, s) => sum + s, 0) / scales.length;
    const id =
      geometry.kind === 'matmul'
        ? this.emit(
            { kind: 'matmul', name: plan.node, x, outFeatures: rows, inFeatures: perRow, weight, bias },
            `${name}:accumulator`,
            scale,
          )
        : this.emit(
            {
              kind: 'conv',
              name: plan.node,
              x,
              window: geometry.window,
              groups: geometry.groups,
              outChannels: rows,
              weight,
              bias,
            },
            `${name}:accumulator`,
            scale,
          );
    return { kind: 'tensor', name, id, form: 'product', shape: plan.shape, scales, channelAxis: plan.channelAxis };
  }

  private applyWires(id: TensorId, wires: readonly Wire[], name: string, scale: number): TensorId {
    let current = id;
    for (const wire of wires) {
      const key = `${current} ${JSON.stringify(wire)}`;
      let next = this.wired.get(key);
      if (next === undefined) {
        next = this.emit(wireNode(wire, current, name), `${name}:${wire.kind}`, scale, wire.shape);
        this.wired.set(key, next);
      }
      current = next;
    }
    return current;
  }

  /**
   * Makes the values the graph outputs: exact accumulators where they are a linear node's, else stored tensors or
   * views. An output is computed by a node of its own and, where it is an accumulator, read by nobody; which of them
   * need one more node for that is known only when all are emitted.
   */
  publish(values: readonly Value[], inputs: readonly TensorId[]): TensorId[] {
    const sources = values.map((value) => {
      const { base, fn } = value.elementwise;
      const emitted = this.emitted(base);
      const factor = emitted.scales.length === 1 ? gainOf(fn) : null;
      const { scales, id, name } = factor !== null ? emitted : this.cell(value.elementwise);
      const scale = scales[0]! * (factor ?? 1);
      return { id: this.applyWires(id, value.wires, name, scale), scale, name };
    });
    const ids = sources.map(({ id }) => id);
    const read = new Set(this.readTensors);
    return sources.map(({ id, scale, name }, i) => {
      const shared = ids.filter((other) => other === id).length > 1;
      const accumulator = this.builder.storageClass(id) === 'accumulator';
      const own = inputs.includes(id) || ids.indexOf(id) !== i || (accumulator && (shared || read.has(id)));
      const { shape, zeroPoint } = values[i]!;
      const output = own
        ? this.emit({ kind: 'reshape', name: `${name}:output`, x: id }, `${name}:output`, scale, shape)
        : id;
      this.outputMetadata.set(output, { scale, zeroPoint });
      return output;
    });
  }

  private freeName(wanted: string): string {
    let name = wanted;
    for (let n = 2; this.names.has(name); n++) name = `${wanted}#${n}`;
    this.names.add(name);
    return name;
  }
}

function accumulatorError(plan: LinearPlan, bound: { magnitude: number; row: number }, limit: number): AssayError {
  return new AssayError(
    'BOUND_EXCEEDED',
    `node '${plan.node}', output channel ${bound.row}: the accumulator may reach ${bound.magnitude} over K = ${plan.perRow} terms, but must stay below 2^${Math.log2(limit)}`,
    {
      mend:
        limit === FLOAT32_EXACT_LIMIT
          ? "Compile with accumulator 'split', or with fewer weight or activation bits."
          : 'Split the layer, or compile with fewer weight or activation bits.',
      meta: { node: plan.node, channel: bound.row, bound: bound.magnitude, limit, k: plan.perRow },
    },
  );
}

function wireNode(wire: Wire, x: TensorId, name: string): NewNode {
  switch (wire.kind) {
    case 'transpose':
      return { kind: 'transpose', name, x, permutation: wire.permutation };
    case 'slice':
      return { kind: 'slice', name, x, starts: wire.starts, steps: wire.steps };
    case 'reshape':
    case 'expand':
      return { kind: wire.kind, name, x };
  }
}

function operandIds(node: NewNode): readonly TensorId[] {
  return operandsOf({ ...node, output: -1 });
}

/** The value times a positive number: metadata only. */
export function scaledValue(value: Value, factor: number, name: string): Value {
  const { base, fn } = value.elementwise;
  return { ...value, elementwise: { base, fn: compose(fn, gain(factor)), name } };
}

/** The tensor itself as a value. */
export function tensorValue(base: TensorBase, batched: boolean, zeroPoint = 0): Value {
  return {
    elementwise: { base, fn: IDENTITY, name: base.name },
    wires: [],
    shape: base.shape,
    batched,
    channelAxis: base.channelAxis,
    zeroPoint,
  };
}
