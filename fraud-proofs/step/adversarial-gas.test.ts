/**
 * The whole of a dispute in which the executor serves nothing and answers everything, before the real contracts: a trace of
 * 256 slots, a tensor of 512 chunks, a chunk, and the proof of a wrong element behind a matrix product of 400 terms. Gas as
 * transactions pay it, calldata and its floor (EIP-7623) included.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { evaluateGraph, GraphBuilder, type IntegerGraph } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import {
  START_TIMEOUT_MS,
  startGame,
  type GameFixture,
} from '../../verifier-contracts/harness/dispute/game-fixture.js';
import { TestTrace } from '../../verifier-contracts/harness/dispute/test-trace.js';
import { FullTrace } from '../nodes/full-trace.js';
import { StepModel } from './step-model.js';
import { bundleOf } from './testing/test-claims.js';
import { play } from './testing/play.js';

const SLOTS = 256;
const CHUNKS = 512;
const TERMS = 400;
/** The tensor that is large, and wrong. */
const SLOT = 7;

/** Requantisations one behind the other, of a row of 400; one product over 512 rows; then of 64 elements. */
function deepGraph(): IntegerGraph {
  const builder = new GraphBuilder();
  const clamp = (x: number, multiplier: number): number => {
    const q = builder.quotientRange(x, Int32Array.of(multiplier), null);
    const table = { kind: 'clamp', qLo: q.lo, qHi: q.hi, lo: -127, hi: 127 } as const;
    return builder.add({
      kind: 'requant',
      name: 'r',
      x,
      multipliers: Int32Array.of(multiplier),
      channelAxis: null,
      table,
    });
  };
  let x = builder.addInput('x', [1, TERMS], { lo: -127, hi: 127 }, 1, 0);
  for (let slot = 1; slot < SLOT; slot++) x = clamp(x, 2 ** 24);
  const rows = builder.add({ kind: 'expand', name: 'rows', x }, { shape: [CHUNKS, TERMS] });
  const weight = Int8Array.from({ length: 64 * TERMS }, (_, i) => ((i * 37) % 255) - 127);
  const product = builder.add({
    kind: 'matmul',
    name: 'product',
    x: rows,
    inFeatures: TERMS,
    outFeatures: 64,
    weight,
    bias: null,
  });
  x = clamp(product, 2 ** 10);
  x = builder.add({ kind: 'slice', name: 'row', x, starts: [0, 0], steps: [1, 1] }, { shape: [1, 64] });
  for (let slot = SLOT + 1; slot < SLOTS; slot++) x = clamp(x, 2 ** 24);
  return builder.finish('deep', [x]);
}

let f: GameFixture;
beforeAll(async () => {
  f = await startGame('integer');
}, START_TIMEOUT_MS);
afterAll(() => f.stop());

it('256 slots, 512 chunks and a chunk: below 1.56 M gas; with announcement and proof below 2.03 M', () =>
  f.apart(async () => {
    const graph = deepGraph();
    const model = new StepModel(bundleOf(graph));
    const input = Int32Array.from({ length: TERMS }, (_, i) => ((i * 91) % 255) - 127);
    const values = evaluateGraph(graph, [input], 1);
    const own = new FullTrace(
      model,
      model.slots.map((id) => values[id]!),
      1,
    );
    expect([own.slots.length, own.tensor(SLOT).header.chunkCount]).toEqual([SLOTS, CHUNKS]);
    const told = own.slots[SLOT]!.slice();
    told[6_437]! += told[6_437]! < 127 ? 1 : -1;
    const lie = own.withSlot(SLOT, told);
    const { outputRoot, traceRoot, inputRoot } = lie.claimRoots();
    const shown = new TestTrace(own.slots.map((_, slot) => lie.root(slot)));
    expect(shown.traceRoot).toBe(traceRoot);
    const claim = (): ReturnType<GameFixture['job']> =>
      f.job(shown, { outputRoot }, { modelDigest: model.digest, inputRoot });
    // The first demand under a policy keeps its terms; the first deposit makes the game's account.
    const first = await claim();
    const { asked, paths, contents, finding } = play(own, first.receipt, lie.asClaim(first.receipt, 'own'));
    await f.demand(first, asked[0]!, { path: paths[0]! });

    const job = await claim();
    const gas: Record<string, bigint> = {};
    for (const [i, node] of asked.entries()) {
      gas[`demand ${node.kind}`] = (await f.demand(job, node, { path: paths[i]! })).gasUsed;
      gas[`answer ${node.kind}`] = (await f.answer(job, node, { content: contents[i]! })).gasUsed;
    }
    if (finding.kind !== 'fault') throw new Error(finding.kind);
    gas['precommit'] = (await f.precommit(job, finding.proof)).gasUsed;
    await f.passTo((await f.now()) + 10);
    gas['proveFault'] = (await f.prove(job, finding.proof)).gasUsed;
    const reveal = Object.entries(gas).reduce((a, [name, b]) => (/^(demand|answer)/.test(name) ? a + b : a), 0n);
    const sum = Object.values(gas).reduce((a, b) => a + b, 0n);
    const bytes = (hex: Hex): number => hex.length / 2 - 1;
    const seen = {
      ...gas,
      reveal,
      sum,
      transactions: Object.keys(gas).length,
      evidence: bytes(finding.proof.evidence),
    };
    const text = JSON.stringify(seen, (_, v: unknown) => (typeof v === 'bigint' ? Number(v) : v));
    expect(asked.map(({ kind }) => kind)).toEqual(['trace', 'tensor', 'chunks']);
    // Two answers, at the floor of 40 a byte, are 1.03 M of it: what a flat reveal of 256 slots and 512 chunks must cost.
    expect(reveal, text).toBeLessThan(1_560_000n);
    expect(sum, text).toBeLessThan(2_030_000n);
  }));
