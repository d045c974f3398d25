import { AbiCoder, Interface, ParamType, type InterfaceAbi } from 'ethers';
import { expect, it } from 'vitest';
import { compileContracts } from '../../verifier-contracts/build.js';
import { COMPILE_TIMEOUT_MS } from '../../verifier-contracts/harness/step/step-fixture.js';
import { NODE_KINDS, randomGraph, randomNodeCase, seededRandom } from '../../graph/integer/testing/random-graph.js';
import { NODE_KINDS as GAME_NODES, type GameNode, type StepEvidence } from '../../verifier-contracts/dispute-types.js';
import { encodeEvidence, STEP_EVIDENCE_TYPE } from './encode-evidence.js';
import { mutatedEvidence } from './testing/mutate-evidence.js';
import { groupsOf } from './testing/step-groups.js';

it(
  'the type of the evidence is that of the contract, field by field',
  async () => {
    const artifacts = await compileContracts({ folders: ['src/dispute', 'harness/step'] });
    const { inputs } = new Interface(artifacts['StepHarness']!.abi as InterfaceAbi).getFunction('judgeOpened')!;
    const own = ParamType.from(`${STEP_EVIDENCE_TYPE} evidence`);
    expect(own.format('full')).toBe(inputs[2]!.format('full'));
  },
  COMPILE_TIMEOUT_MS,
);

/** By the library; null where it refuses. */
function slowEncoding(evidence: StepEvidence): string | null {
  const numbered = <T extends { readonly node: GameNode }>(one: T): unknown => ({
    ...one,
    node: { ...one.node, kind: GAME_NODES.indexOf(one.node.kind) },
  });
  const value = { ...evidence, segments: evidence.segments.map(numbered), sums: evidence.sums.map(numbered) };
  try {
    return AbiCoder.defaultAbiCoder().encode([STEP_EVIDENCE_TYPE], [value]);
  } catch {
    return null;
  }
}

function encoding(evidence: StepEvidence): string | null {
  try {
    return encodeEvidence(evidence);
  } catch {
    return null;
  }
}

it('evidence and changes of it are encoded, or refused, as a library of the ABI does', () => {
  const seed = Date.now() % 2 ** 31;
  const random = seededRandom(seed);
  const node: GameNode = { kind: 'sums', slot: 3, height: 0, first: 2 ** 40, count: 2 };
  let refused = 0;
  for (let round = 0; round < 6; round++) {
    const kind = NODE_KINDS[Math.floor(random() * NODE_KINDS.length)]!;
    const test = round < 3 ? randomGraph(random) : randomNodeCase(kind, random);
    for (const { evidence } of groupsOf(test, random, { every: 1 + round, wild: false }).slice(0, 2)) {
      const sums = [{ node, value: 1, element: 2, parts: [-1n, 2n ** 62n] }];
      const all = [evidence, { ...evidence, sums }];
      for (const mutant of mutatedEvidence({ ...evidence, sums })) if (random() < 0.1) all.push(mutant);
      // Numbers that have no place in their fields.
      const [sum] = sums;
      for (const unfit of [{ value: 2 ** 32 }, { element: -1 }, { parts: [2n ** 63n] }, { parts: [-(2n ** 63n) - 1n] }])
        all.push({ ...evidence, sums: [{ ...sum!, ...unfit }] });
      for (const one of all) {
        const expected = slowEncoding(one);
        expect(encoding(one), `seed ${seed}`).toBe(expected);
        if (expected === null) refused++;
      }
    }
  }
  expect(refused).toBeGreaterThan(0);
});
