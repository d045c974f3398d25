/**
 * One arithmetic, four implementations: for every operator of the integer graph, onnxruntime on the CPU (on one thread
 * and on two), onnxruntime-web in WebAssembly and TensorFlow.js in WebAssembly give the reference's integers, bit for bit.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../executor/engine.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import type { NodeCase } from '../../graph/integer/testing/random-graph.js';
import { differences, prepareCases } from './cases.js';
import type { PreparedCases } from './cases.js';
import { ENGINES } from './open-engines.js';

/** ASSAY_SEED repeats a run. */
const FIRST_SEED = Number(process.env['ASSAY_SEED'] ?? Date.now() % 2 ** 31);
const CASES = 200;
const CASES_PER_SESSION = 20;

const engines = new Map<string, Engine>();
beforeAll(async () => {
  for (const [name, open] of Object.entries(ENGINES)) engines.set(name, await open());
});
afterAll(async () => {
  for (const engine of engines.values()) await engine.close();
});

/** Cases from consecutive seeds, in groups that run in one session each. */
function prepareGroups(make: (seed: number) => NodeCase): PreparedCases[] {
  return Array.from({ length: CASES / CASES_PER_SESSION }, (_, group) =>
    prepareCases(
      Array.from({ length: CASES_PER_SESSION }, (__, index) => {
        const seed = (FIRST_SEED + group * CASES_PER_SESSION + index) >>> 0;
        return { name: `ASSAY_SEED=${seed}`, ...make(seed) };
      }),
    ),
  );
}

describe.each(NODE_KINDS)('%s', (kind) => {
  let groups: PreparedCases[];
  beforeAll(() => {
    groups = prepareGroups((seed) => randomNodeCase(kind, seededRandom(seed)));
  });

  it.each(Object.keys(ENGINES))(`%s equals the reference on ${CASES} random cases`, async (name) => {
    for (const [index, cases] of groups.entries()) {
      const form = (kind === 'conv' || kind === 'sumPool') && index % 2 === 1 ? 'im2col' : 'conv';
      expect(await differences(engines.get(name)!, cases, form), `form ${form}`).toEqual([]);
    }
  });
});

describe('networks', () => {
  let groups: PreparedCases[];
  beforeAll(() => {
    groups = prepareGroups((seed) => randomGraph(seededRandom(seed)));
  });

  it.each(Object.keys(ENGINES))(`%s equals the reference on ${CASES} random networks`, async (name) => {
    for (const cases of groups) expect(await differences(engines.get(name)!, cases, 'conv')).toEqual([]);
  });
});
