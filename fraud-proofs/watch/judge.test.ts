import { describe, expect, it, vi } from 'vitest';
import { commitTable, evaluateGraph, GraphBuilder, slotsOf, type Bundle } from '../../graph/index.js';
import { randomGraph, seededRandom } from '../../graph/integer/testing/random-graph.js';
import type { Hex, Receipt } from '../../receipts/types.js';
import type { GameNode } from '../../verifier-contracts/dispute-types.js';
import { nodeContent } from '../nodes/answer-node.js';
import { FullTrace } from '../nodes/full-trace.js';
import { contentHash, nodeIdOf } from '../nodes/ids.js';
import type { KnownClaim } from '../nodes/known-claim.js';
import { tamperTrace } from '../step/inject.js';
import { StepModel } from '../step/step-model.js';
import { MAX_CONTRACTION } from '../step/sums.js';
import { bundleOf, receiptOf } from '../step/testing/test-claims.js';
import { Judge } from './judge.js';
import { verdictOf, type NextStep } from './next-step.js';
import type { Engine, FileSource } from './sources.js';
import { encodeTensors } from './tensor-file.js';
import type { ClaimSeen, DemandSeen } from './world.js';

const ID: Hex = `0x${'cd'.repeat(32)}`;
const evaluator: Engine = async ({ graph }, inputs, items) => {
  const values = evaluateGraph(graph, inputs, items);
  return slotsOf(graph).map((id) => values[id]!);
};

interface Case {
  readonly bundle: Bundle;
  readonly model: StepModel;
  readonly inputs: readonly Int32Array[];
  readonly items: number;
  readonly own: FullTrace;
}

function caseOf(seed: number, every = 1): Case {
  const { graph, inputs, items } = randomGraph(seededRandom(seed));
  const bundle = bundleOf(graph, commitTable(graph, every));
  const model = new StepModel(bundle);
  const values = evaluateGraph(graph, inputs, items);
  return {
    bundle,
    model,
    inputs,
    items,
    own: new FullTrace(
      model,
      model.slots.map((id) => values[id]!),
      items,
    ),
  };
}

function lieIn({ model, inputs, items, own }: Case): FullTrace {
  for (let slot = model.slotCount - 1; slot >= model.header.inputs; slot--) {
    const { lo, hi } = model.infoOfSlot(slot).range;
    if (lo === hi) continue;
    const delta = own.slots[slot]![0]! < hi ? 1 : -1;
    return tamperTrace(model, inputs, items, { at: { slot }, element: 0, delta, downstream: true }).trace;
  }
  throw new Error('nothing can be moved');
}

const seen = (receipt: Receipt, demands: readonly DemandSeen[] = []): ClaimSeen =>
  ({ id: ID, claim: { receipt, header: {}, index: 0 }, demands }) as unknown as ClaimSeen;

const demandOf = (node: GameNode, content: Hex | null): DemandSeen => ({
  nodeId: nodeIdOf(node),
  node,
  demander: ID,
  answerBy: 1,
  deposit: 1n,
  closed: false,
  answer:
    content === null
      ? null
      : { sender: ID, contentHash: contentHash(content), content, signature: null, blockNumber: 1 },
});

const inputsServed =
  ({ bundle: { graph }, inputs, items }: Case): FileSource =>
  async (kind) =>
    kind === 'inputs'
      ? encodeTensors(
          graph.inputs.map((id) => graph.tensors[id]!),
          inputs,
          items,
        )
      : null;

function judgeOf({ bundle }: Case, sources: readonly FileSource[], engine: Engine = evaluator): Judge {
  const models = async (digest: Hex) => (digest === bundle.digest ? bundle : null);
  return new Judge({ models, sources, engine, maxContraction: async () => MAX_CONTRACTION });
}

/** Asks until nothing is being executed. */
async function settled(judge: Judge, claim: ClaimSeen): Promise<NextStep> {
  for (;;) {
    const step = await judge.stepOf(claim);
    if (step.kind !== 'pending') return step;
    await judge.settled();
  }
}

/** Has everything answered that is demanded, from what the executor holds. */
async function answeredAll(judge: Judge, receipt: Receipt, executor: KnownClaim, model: StepModel) {
  const demands: DemandSeen[] = [];
  for (;;) {
    const step = await settled(judge, seen(receipt, demands));
    if (step.kind !== 'demand') return { step, demands };
    for (const { node } of step.demands) demands.push(demandOf(node, nodeContent(model, executor, node)!));
  }
}

describe('an opinion', () => {
  it('is valid only after a whole execution that agrees', async () => {
    const given = caseOf(1);
    const receipt = receiptOf(given.model, given.own);
    const judge = judgeOf(given, [inputsServed(given)]);
    expect(verdictOf(await judge.stepOf(seen(receipt)))).toBe('unknown');
    expect(judge.traceOf(seen(receipt))).toBeNull();
    const step = await settled(judge, seen(receipt));
    expect([step.kind, verdictOf(step)]).toEqual(['right', 'valid']);
    expect(judge.traceOf(seen(receipt))!.claimRoots().traceRoot).toBe(receipt.traceRoot);
  });

  it('of a lie whose trace is served is a proof at once', async () => {
    const given = caseOf(2);
    const lie = lieIn(given);
    const { graph } = given.bundle;
    const traces: FileSource = async (kind) =>
      kind === 'traces'
        ? encodeTensors(
            slotsOf(graph).map((id) => graph.tensors[id]!),
            lie.slots,
            given.items,
          )
        : null;
    const step = await settled(judgeOf(given, [inputsServed(given), traces]), seen(receiptOf(given.model, lie)));
    expect([step.kind, verdictOf(step)]).toEqual(['prove', 'invalid']);
  });

  it.each([1, 3])(
    'of a lie that is answered leads to a proof, step by step (every %d. slot committed)',
    async (every) => {
      const given = caseOf(3, every);
      const lie = lieIn(given);
      const receipt = receiptOf(given.model, lie);
      const { step, demands } = await answeredAll(
        judgeOf(given, [inputsServed(given)]),
        receipt,
        lie.asClaim(receipt, 'own'),
        given.model,
      );
      expect(step.kind).toBe('prove');
      expect(demands.length).toBeGreaterThan(1);
      // What was demanded and not answered yet is waited for, whoever demanded it; the claim is known to be wrong.
      const waiting = await settled(
        judgeOf(given, [inputsServed(given)]),
        seen(receipt, [{ ...demands[0]!, answer: null }]),
      );
      expect([waiting.kind, verdictOf(waiting)]).toEqual(['wait', 'invalid']);
    },
  );

  it('takes the inputs from the chain where nobody has them, and only then executes', async () => {
    for (let seed = 10; seed < 16; seed++) {
      const given = caseOf(seed, 1 + (seed % 3));
      const receipt = receiptOf(given.model, given.own);
      const engine = vi.fn(evaluator);
      const judge = judgeOf(given, [], engine);
      const first = await judge.stepOf(seen(receipt));
      expect(first).toMatchObject({ kind: 'demand', wrong: false });
      expect(verdictOf(first)).toBe('unknown');
      const { step } = await answeredAll(judge, receipt, given.own.asClaim(receipt, 'own'), given.model);
      expect(step.kind, `seed ${seed}`).toBe('right');
      expect(engine).toHaveBeenCalledOnce();
    }
  });

  it('of inputs that are out of range is a fault, and nothing is executed', async () => {
    const builder = new GraphBuilder();
    const x = builder.addInput('x', [3], { lo: 0, hi: 100 }, 1, 0);
    const graph = builder.finish('double', [
      builder.add({ kind: 'combine', name: 'c', terms: [{ x, coefficient: 2 }], bias: null }),
    ]);
    const bundle = bundleOf(graph);
    const model = new StepModel(bundle);
    const inputs = [Int32Array.of(5, 200, 7)];
    const trace = new FullTrace(model, [inputs[0]!, Int32Array.of(10, 400, 14)].slice(0, model.slotCount), 1);
    const given: Case = { bundle, model, inputs, items: 1, own: trace };
    const receipt = receiptOf(model, trace);
    const engine = vi.fn(evaluator);
    const judge = judgeOf(given, [inputsServed(given)], engine);
    const { step } = await answeredAll(judge, receipt, trace.asClaim(receipt, 'own'), model);
    expect(step).toMatchObject({ kind: 'prove', proof: { fault: 'inputRange' } });
    expect(engine).not.toHaveBeenCalled();
  });
});

describe('unknown never becomes valid', () => {
  const given = caseOf(4);
  const receipt = receiptOf(given.model, given.own);
  const expectUnknown = async (judge: Judge, claim = seen(receipt)): Promise<NextStep> => {
    const step = await settled(judge, claim);
    expect(verdictOf(step)).toBe('unknown');
    return step;
  };

  it('without the model', async () => {
    const judge = new Judge({
      models: async () => null,
      sources: [inputsServed(given)],
      engine: evaluator,
      maxContraction: async () => 1,
    });
    expect(await expectUnknown(judge)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('no bundle') });
  });

  it('with an engine that fails, gives too little, or is wrong; and goes on when it works again', async () => {
    let broken = true;
    const engine: Engine = async (...args) => {
      if (broken) throw new Error('out of memory');
      return evaluator(...args);
    };
    const judge = judgeOf(given, [inputsServed(given)], engine);
    await judge.stepOf(seen(receipt));
    await judge.settled();
    expect(verdictOf(await judge.stepOf(seen(receipt)))).toBe('unknown');
    await judge.settled();
    broken = false;
    await judge.stepOf(seen(receipt));
    await judge.settled();
    expect((await settled(judge, seen(receipt))).kind).toBe('right');
    const few = judgeOf(given, [inputsServed(given)], async (...args) => (await evaluator(...args)).slice(1));
    await few.stepOf(seen(receipt));
    await few.settled();
    expect(verdictOf(await few.stepOf(seen(receipt)))).toBe('unknown');
  });

  it.each([
    ['fails', () => Promise.reject(Object.assign(new Error('down'), {}))],
    ['gives nothing', async () => null],
    ['gives rubbish', async () => new Uint8Array(40)],
  ])('with a source that %s: then the chain is asked', async (_, source) => {
    const sources = [(async () => (await source()) as Uint8Array | null) as FileSource];
    const failing = _ === 'fails';
    const judge = judgeOf(given, sources);
    if (failing) await expect(judge.stepOf(seen(receipt))).rejects.toThrow('down');
    else expect((await expectUnknown(judge)).kind).toBe('demand');
  });

  it('with inputs of another job', async () => {
    const other = caseOf(4);
    const changed = other.inputs.map((one) => one.slice());
    const { lo, hi } = given.bundle.graph.tensors[given.bundle.graph.inputs[0]!]!.range;
    changed[0]![0] = changed[0]![0] === hi ? lo : hi;
    expect((await expectUnknown(judgeOf(given, [inputsServed({ ...other, inputs: changed })]))).kind).toBe('demand');
  });

  it('with an answer that is not what its hash binds', async () => {
    const lie = lieIn(given);
    const lying = receiptOf(given.model, lie);
    const judge = judgeOf(given, [inputsServed(given)]);
    const step = await settled(judge, seen(lying));
    if (step.kind !== 'demand') throw new Error(step.kind);
    const { node } = step.demands[0]!;
    // No contract takes it; whatever comes of it, it is not believed.
    const rubbish = await settled(judge, seen(lying, [demandOf(node, `0x${'00'.repeat(36)}`)]));
    expect(rubbish.kind).toBe('unknown');
  });

  it('after a reorganisation has put another answer in the place of one', async () => {
    const behind = caseOf(3, 3);
    const lie = lieIn(behind);
    const lying = receiptOf(behind.model, lie);
    const judge = judgeOf(behind, [inputsServed(behind)]);
    const { step, demands } = await answeredAll(judge, lying, lie.asClaim(lying, 'own'), behind.model);
    expect(step.kind).toBe('prove');
    const without = await settled(judge, seen(lying, demands.slice(0, 1)));
    expect(without.kind).toBe('demand');
    expect(await settled(judge, seen(lying, demands))).toEqual(step);
  });
});
