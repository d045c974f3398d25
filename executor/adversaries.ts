/**
 * Executors that cheat. For the demo, drills and tests only: they show that watchers and samplers catch what they do.
 *
 * Each wraps an honest node and lies about results in one way. The lie is as good as a cheater could make it without
 * doing the work: the committed trace belongs to the claimed model, is in range, and agrees with the false output,
 * so that only running the model again finds it out.
 */
import { committedTensors, inputRoot, sizeOf } from '../graph/index.js';
import type { Bundle, TensorInfo } from '../graph/index.js';
import { hashOrder } from '../receipts/index.js';
import type { Hex, JobOrder, Receipt, ReceiptDomain } from '../receipts/index.js';
import { commit, outputsFrom } from './execute.js';
import type { ExecutionResult, Executor } from './node.js';

abstract class Adversary implements Executor {
  constructor(
    protected readonly honest: Executor,
    protected readonly domain: ReceiptDomain,
  ) {}

  get address(): Hex {
    return this.honest.address;
  }

  get traces(): Executor['traces'] {
    return this.honest.traces;
  }

  get executions(): Executor['executions'] {
    return this.honest.executions;
  }

  abstract execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult>;

  accept(order: JobOrder, signature: Hex): Promise<Hex> {
    return this.honest.accept(order, signature);
  }

  sign(receipt: Receipt): Promise<Hex> {
    return this.honest.sign(receipt);
  }

  close(): Promise<void> {
    return this.honest.close();
  }

  /**
   * Passes `slots` off as the order's execution: commits to them, stores them as a trace, and forges the wrapped node's
   * record of the order, without which that node would not sign the lie.
   */
  protected async claim(
    order: JobOrder,
    bundle: Bundle,
    slots: Int32Array[],
    honest: Pick<ExecutionResult, 'engine' | 'elapsedMs'>,
  ): Promise<ExecutionResult> {
    const { items } = order;
    // The inputs are the order's, under whichever commitment it names.
    const roots = { ...commit(bundle, slots, items), inputRoot: order.inputRoot };
    const outputs = outputsFrom(bundle, slots);
    await this.traces.put('trace', roots.traceRoot, slots, items);
    await this.traces.put('result', roots.outputRoot, outputs, items);
    const facts = { orderHash: hashOrder(order, this.domain), modelDigest: order.modelDigest, items };
    await this.executions?.record({ ...facts, ...roots, lane: order.lane, policyHash: order.policyHash });
    return {
      ...facts,
      ...roots,
      outputs,
      slots,
      engine: honest.engine,
      elapsedMs: honest.elapsedMs,
    };
  }
}

/** Adds one unit to the first output element (takes one off where it is at the top of its range). */
export class FlippedOutput extends Adversary {
  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    const result = await this.honest.execute(order, bundle, inputs);
    const output = bundle.graph.outputs[0]!;
    const slot = committedTensors(bundle.graph, bundle.committedSlots).indexOf(output);
    const slots = result.slots.map((values) => values.slice());
    const [first] = slots[slot]!;
    slots[slot]![0] = first! < bundle.graph.tensors[output]!.range.hi ? first! + 1 : first! - 1;
    return this.claim(order, bundle, slots, result);
  }
}

/** Runs a cheaper model with the same ports, and claims the one that was ordered. */
export class SmallerModel extends Adversary {
  /** @param smaller has as many inputs and outputs as the models that it stands in for, of the same sizes. */
  constructor(
    honest: Executor,
    domain: ReceiptDomain,
    readonly smaller: Bundle,
  ) {
    super(honest, domain);
  }

  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    const [claimed, cheap] = [bundle.graph, this.smaller.graph];
    const read = cheap.inputs.map((id, index) =>
      translate(inputs[index]!, claimed.tensors[claimed.inputs[index]!]!, cheap.tensors[id]!),
    );
    const cheapOrder = {
      ...order,
      modelDigest: this.smaller.digest as Hex,
      inputRoot: inputRoot(cheap, read, order.items) as Hex,
    };
    const result = await this.honest.execute(cheapOrder, this.smaller, read);
    const outputs = claimed.outputs.map((id, index) =>
      translate(result.outputs[index]!, cheap.tensors[cheap.outputs[index]!]!, claimed.tensors[id]!),
    );
    // Of the claimed model's inner tensors it knows nothing: it commits to the least value of each.
    const slots = committedTensors(claimed, bundle.committedSlots).map((id) => {
      const { shape, range } = claimed.tensors[id]!;
      return new Int32Array(order.items * sizeOf(shape)).fill(range.lo);
    });
    return this.claim(order, bundle, withPorts(bundle, slots, inputs, outputs), result);
  }
}

/** Commits to what a given function makes of the model's slots. */
export class AlteredTrace extends Adversary {
  /** @param alter gives the committed slots of a model on these inputs, as they are to be claimed */
  constructor(
    honest: Executor,
    domain: ReceiptDomain,
    private readonly alter: (bundle: Bundle, inputs: readonly Int32Array[], items: number) => Int32Array[],
  ) {
    super(honest, domain);
  }

  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    const result = await this.honest.execute(order, bundle, inputs);
    return this.claim(order, bundle, this.alter(bundle, inputs, order.items), result);
  }
}

/** Answers every later job on a model with the result of the first one, which is true. */
export class StaleAnswer extends Adversary {
  /** Kept as promises: a job that comes while the first still runs gets its answer too. */
  readonly #first = new Map<string, Promise<ExecutionResult>>();

  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    const key = `${bundle.digest} ${order.items}`;
    const earlier = this.#first.get(key);
    if (earlier === undefined) {
      const running = this.honest.execute(order, bundle, inputs);
      this.#first.set(key, running);
      running.catch(() => this.#first.delete(key));
      return running;
    }
    const first = await earlier;
    return this.claim(order, bundle, withPorts(bundle, first.slots, inputs, first.outputs), first);
  }
}

/** The slots with these inputs and outputs in their places. */
function withPorts(
  { graph, committedSlots }: Bundle,
  slots: readonly Int32Array[],
  inputs: readonly Int32Array[],
  outputs: readonly Int32Array[],
): Int32Array[] {
  const ids = committedTensors(graph, committedSlots);
  const replaced = [...slots];
  graph.inputs.forEach((id, index) => (replaced[ids.indexOf(id)] = inputs[index]!));
  graph.outputs.forEach((id, index) => (replaced[ids.indexOf(id)] = outputs[index]!));
  return replaced;
}

/** Integers of one tensor as those of another that stand for the same real values, cut off to its range. */
function translate(values: Int32Array, from: TensorInfo, to: TensorInfo): Int32Array {
  return values.map((value) => {
    const integer = Math.round(((value + from.zeroPoint) * from.scale) / to.scale) - to.zeroPoint;
    return Math.min(Math.max(integer, to.range.lo), to.range.hi);
  });
}
