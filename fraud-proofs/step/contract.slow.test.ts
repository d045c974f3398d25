/** The contracts against what is written here of them: verdicts on changed evidence, places and contents of nodes. */
import { Interface, ContractFactory, Wallet, type Contract, type InterfaceAbi } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commitTable } from '../../graph/commitment/commit-table.js';
import { evaluateGraph, GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import { NODE_KINDS, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { anvilKey, startAnvil } from '../../verifier-contracts/anvil.js';
import { compileContracts } from '../../verifier-contracts/build.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import type { StepEvidence } from '../../verifier-contracts/dispute-types.js';
import { claimValue, nodeValue, pathValue } from '../../verifier-contracts/game-values.js';
import { COMPILE_TIMEOUT_MS, deployStep, type StepChain } from '../../verifier-contracts/harness/step/step-fixture.js';
import { nodeIdOf } from '../nodes/ids.js';
import { FullTrace } from '../nodes/full-trace.js';
import { placeOf } from '../nodes/places.js';
import { buildEvidence, type FaultTarget } from './build-evidence.js';
import { checkStep } from './check-step.js';
import { encodeEvidence } from './encode-evidence.js';
import { tamperTrace } from './inject.js';
import { StepModel } from './step-model.js';
import { mutatedEvidence } from './testing/mutate-evidence.js';
import { play } from './testing/play.js';
import { bundleOf, claimOf, receiptOf } from './testing/test-claims.js';

const LIMIT = 16;

describe('evidence with one field changed', () => {
  let chain: StepChain;
  beforeAll(async () => {
    chain = await deployStep(LIMIT);
  }, COMPILE_TIMEOUT_MS);
  afterAll(() => chain.stop());

  it.each(NODE_KINDS)('%s: the contract finds a fault where the mirror does, and nowhere else', async (kind) => {
    const random = seededRandom(57);
    let [tried, faults] = [0, 0];
    for (let i = 0; i < 2; i++) {
      const { graph, inputs, items } = randomNodeCase(kind, random);
      const model = new StepModel(bundleOf(graph));
      const values = evaluateGraph(graph, inputs, items);
      const slots = model.slots.map((id) => values[id]!);
      const slot = model.slotCount - 1;
      // An honest claim, and one that is wrong in this element.
      for (const change of [0, 1]) {
        const told = slots.map((data) => data.slice());
        const { lo, hi } = model.infoOfSlot(slot).range;
        if (change === 1) told[slot]![0]! += told[slot]![0]! < hi ? 1 : -1;
        if (change === 1 && lo === hi) continue;
        const claim = claimOf(model, told, items);
        const target: FaultTarget = { fault: 'step', slot, element: 0 };
        const evidence = buildEvidence(model, claim, target, LIMIT);
        // A long contraction: its sums were not stated.
        if (evidence === null) continue;
        const encodable = [evidence, ...mutatedEvidence(evidence)].flatMap((mutant) => {
          const encoded = tryEncode(mutant);
          return encoded === null ? [] : [{ mutant, encoded }];
        });
        const cases = encodable.map(({ encoded }) => ({
          receipt: claim.receipt,
          fault: 'step' as const,
          evidence: encoded,
        }));
        for (let at = 0; at < cases.length; at += 100) {
          const answers = await chain.judge(cases.slice(at, at + 100));
          answers.forEach((answer, n) => {
            const { mutant } = encodable[at + n]!;
            const own = checkStep(claim.receipt, 'step', mutant, LIMIT);
            tried++;
            if (own.verdict === 'fault') faults++;
            const text = JSON.stringify(mutant);
            expect(
              answer.verdict === 'fault',
              `${kind}: ${JSON.stringify(answer)} for ${JSON.stringify(own)} of ${text}`,
            ).toBe(own.verdict === 'fault');
            if (own.verdict === 'fault') expect(answer).toMatchObject(own);
          });
        }
      }
    }
    console.log(`${kind}: ${tried} changes, ${faults} faults`);
  });
});

/** Null where a field does not hold a number. */
function tryEncode(evidence: StepEvidence): `0x${string}` | null {
  try {
    return encodeEvidence(evidence);
  } catch {
    return null;
  }
}

describe('nodes', () => {
  let checks: Contract;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const anvil = await startAnvil();
    const provider = await connectChain(anvil.url);
    const { abi, bytecode } = (await compileContracts({ folders: ['src/dispute'] }))['NodeChecks']!;
    checks = (await new ContractFactory(
      new Interface(abi as InterfaceAbi),
      bytecode,
      new Wallet(anvilKey(0), provider),
    ).deploy()) as Contract;
    await checks.waitForDeployment();
    stop = async () => {
      provider.destroy();
      await anvil.stop();
    };
  }, COMPILE_TIMEOUT_MS);
  afterAll(() => stop());

  /** x -> requantisations one behind the other. */
  function chainOf(length: number, size: number): IntegerGraph {
    const builder = new GraphBuilder();
    let x = builder.addInput('x', [size], { lo: -1, hi: 1 }, 1, 0);
    const table = { kind: 'clamp', qLo: -1, qHi: 1, lo: -1, hi: 1 } as const;
    for (let i = 0; i < length; i++)
      x = builder.add({
        kind: 'requant',
        name: `r${i}`,
        x,
        multipliers: Int32Array.of(2 ** 24),
        channelAxis: null,
        table,
      });
    return builder.finish('chain', [x]);
  }

  it.each([
    ['small', 3, 100, 1, 2, 77],
    ['a large tensor', 1, 64 * 1100, 1, 1, 64 * 1000],
    ['a long trace', 700, 2, 1, 600, 1],
    ['boundaries', 700, 70, 100, 351, 69],
  ])('%s: place, path and content are those that the chain knows', async (_, length, size, every, slot, element) => {
    const graph = chainOf(length, size);
    const model = new StepModel(bundleOf(graph, commitTable(graph, every)));
    const input = Int32Array.from({ length: size }, (_unused, i) => (i % 3) - 1);
    const values = evaluateGraph(graph, [input], 1);
    const own = new FullTrace(
      model,
      model.slots.map((id) => values[id]!),
      1,
    );
    const delta = own.slots[slot]![element]! > 0 ? -1 : 1;
    const { trace } = tamperTrace(model, [input], 1, { at: { slot }, element, delta, downstream: true });
    const receipt = receiptOf(model, trace);
    const { asked, paths, contents } = play(own, receipt, trace.asClaim(receipt, 'own'));
    const hash = `0x${'00'.repeat(32)}` as const;
    const header = {
      lane: 'optimistic',
      count: 1,
      poster: `0x${'44'.repeat(20)}`,
      salt: hash,
      batchRoot: hash,
      policyHash: receipt.policyHash,
      unbound: 0n,
      committedAt: 1,
      committedBlock: 1,
    } as const;
    let segmentLevel = 0;
    for (const [i, node] of asked.entries()) {
      const path = paths[i]!;
      const place = await checks
        .getFunction('placeOf')
        .staticCall(claimValue({ receipt, header: header as never, index: 0 }), nodeValue(node), pathValue(path), '0x');
      const mine = placeOf(node, path, receipt.opCount, segmentLevel);
      if (node.kind === 'segment') segmentLevel = mine.level;
      expect(Number(place.level) + (place.segmentId === hash ? 0 : segmentLevel), node.kind).toBe(mine.level);
      expect(place.parentId).toBe(mine.parent === null ? hash : nodeIdOf(mine.parent));
      if (node.kind === 'segment') continue;
      expect(
        await checks.getFunction('boundOf').staticCall(nodeValue(node), place.size, place.width, contents[i]!),
      ).toBe(place.bound);
    }
  });
});
