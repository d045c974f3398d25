/**
 * What an operator is here: two faces side by side, `infer` (types and shapes of the outputs) and `evaluate`
 * (the outputs). Both see one `Application`: a node, the opset it is read under, and its operands.
 */
import { AssayError } from '../../../common/errors.js';
import type { ElementType, Tensor } from '../../tensor.js';
import type { OnnxNode } from '../model.js';
import { integersOf } from '../numbers.js';

/** Type and shape of a value, without its name. */
export interface Facts {
  readonly type: ElementType;
  readonly shape: readonly number[];
}

/** An input of a node: facts always, the value where it is known (constants; everything in evaluation). */
export interface Operand extends Facts {
  readonly name: string;
  readonly value: Tensor | null;
}

export interface Operator {
  readonly op: string;
  /** First opset that has the operator; 7 where it is older. */
  readonly sinceOpset: number;
  /**
   * True where the outputs follow from the operands' shapes alone, so that they are constants once shapes are
   * bound (Shape, Size).
   */
  readonly shapeOnly?: true;
  /**
   * True where constant operands do not make the outputs constants: a dequantised weight stays an integer tensor
   * with its scale, which the compiler wants to see.
   */
  readonly keepsConstants?: true;
  /**
   * Facts of all outputs that the operator can give.
   * @throws ONNX_SHAPE_MISMATCH, ONNX_INVALID, ONNX_NODE_UNSUPPORTED.
   */
  readonly infer: (application: Application) => readonly Facts[];
  /** The outputs that the node asks for (more are allowed); every operand has its value. */
  readonly evaluate: (application: Application) => readonly Tensor[];
}

/** No shape, list of axes or of slice bounds is longer. */
const MAX_LIST = 1024;

export class Application {
  constructor(
    readonly node: OnnxNode,
    readonly opset: number,
    private readonly operands: readonly (Operand | null)[],
  ) {}

  get inputCount(): number {
    return this.operands.length;
  }

  /** Whether the node names the output at this position. */
  asks(output: number): boolean {
    return (this.node.outputs[output] ?? '') !== '';
  }

  optional(index: number): Operand | null {
    return this.operands[index] ?? null;
  }

  /** @throws ONNX_INVALID where the input is missing. */
  input(index: number): Operand {
    const operand = this.operands[index] ?? null;
    if (operand === null) throw this.invalid(`lacks its input ${index}`);
    return operand;
  }

  /**
   * The types of the inputs at these positions, where given.
   * @throws ONNX_INVALID where one is not allowed.
   */
  requireTypes(indices: readonly number[], allowed: readonly ElementType[]): void {
    for (const index of indices) {
      const operand = this.optional(index);
      if (operand !== null && !allowed.includes(operand.type)) {
        throw this.invalid(`has ${operand.type} as its input ${index}; expected ${allowed.join(' or ')}`);
      }
    }
  }

  inputs(): Operand[] {
    if (this.operands.length === 0) throw this.invalid('has no inputs');
    return this.operands.map((_, index) => this.input(index));
  }

  /**
   * The value of an input that shapes depend on.
   * @throws ONNX_NODE_UNSUPPORTED where it is computed from the model's inputs.
   */
  constant(index: number): Tensor {
    const operand = this.input(index);
    if (operand.value === null) {
      throw this.unsupported(
        `its input ${index} (${JSON.stringify(operand.name)}) decides a shape and is computed from the model's inputs`,
        'Export the model with fixed shapes, so that this input is a constant.',
      );
    }
    return operand.value;
  }

  /** The value of an input in evaluation. */
  tensor(index: number): Tensor {
    return this.constant(index);
  }

  /** An optional input that shapes depend on, as integers; null where omitted. */
  optionalIntegers(index: number): number[] | null {
    return this.optional(index) === null ? null : this.integers(index);
  }

  integers(index: number): number[] {
    const tensor = this.constant(index);
    if (tensor.type !== 'int64' && tensor.type !== 'int32') {
      throw this.invalid(`has ${tensor.type} as its input ${index}; expected int64`);
    }
    if (tensor.data.length > MAX_LIST) {
      throw this.mismatch(
        `has ${tensor.data.length} numbers as its input ${index}; at most ${MAX_LIST} describe a shape`,
      );
    }
    return integersOf(tensor);
  }

  /** A number attribute with its default. */
  number(name: string, fallback: number): number {
    return this.optionalNumber(name) ?? fallback;
  }

  optionalNumber(name: string): number | null {
    const value = this.node.attributes.get(name);
    if (value === undefined) return null;
    if (typeof value !== 'number') throw this.invalid(`has an attribute ${JSON.stringify(name)} that is no number`);
    return value;
  }

  text(name: string, fallback: string): string {
    const value = this.node.attributes.get(name);
    if (value === undefined) return fallback;
    if (typeof value !== 'string') throw this.invalid(`has an attribute ${JSON.stringify(name)} that is no string`);
    return value;
  }

  /** A list attribute; null where absent. */
  numbers(name: string): readonly number[] | null {
    const value = this.node.attributes.get(name);
    if (value === undefined) return null;
    if (!Array.isArray(value) || value.some((item) => typeof item !== 'number')) {
      throw this.invalid(`has an attribute ${JSON.stringify(name)} that is no list of numbers`);
    }
    return value as readonly number[];
  }

  /** An axis in 0..rank-1 from one that may be negative. */
  axis(axis: number, rank: number): number {
    if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
      throw this.mismatch(`has axis ${axis}; its input has ${rank} dimensions`);
    }
    return axis < 0 ? axis + rank : axis;
  }

  /** Distinct axes, each in 0..rank-1, ascending. */
  axes(axes: readonly number[], rank: number): number[] {
    const resolved = axes.map((axis) => this.axis(axis, rank)).sort((a, b) => a - b);
    for (let i = 1; i < resolved.length; i++) {
      if (resolved[i] === resolved[i - 1]) throw this.invalid(`names axis ${resolved[i]} twice`);
    }
    return resolved;
  }

  private get title(): string {
    return `Node ${JSON.stringify(this.node.name)} (${this.node.op})`;
  }

  private get facts(): Record<string, unknown> {
    return { node: this.node.name, op: this.node.op, inputs: this.operands.map((operand) => operand?.shape ?? null) };
  }

  /** The node breaks a rule of its operator. `what` continues the sentence "Node x ...". */
  invalid(what: string): AssayError {
    return new AssayError('ONNX_INVALID', `${this.title} ${what}.`, { meta: this.facts });
  }

  /** The operands' shapes contradict the operator. */
  mismatch(what: string): AssayError {
    const shapes = this.operands.map((operand) => (operand === null ? '-' : `[${operand.shape.join(', ')}]`));
    return new AssayError(
      'ONNX_SHAPE_MISMATCH',
      `${this.title} ${what}; its inputs have the shapes ${shapes.join(' ')}.`,
      {
        meta: this.facts,
      },
    );
  }

  /** The node is right and asks for what is not built. */
  unsupported(reason: string, mend: string): AssayError {
    return new AssayError('ONNX_NODE_UNSUPPORTED', `${this.title} is not supported: ${reason}.`, {
      mend,
      meta: { ...this.facts, reason },
    });
  }
}
