/** An arena in which times are few blocks, and what is played in it: a small model, a lie, an executor who answers. */
import { Arena, type ArenaClaim } from '../../cli/disputes/scenarios/arena.js';
import { withBoundaries } from '../../cli/disputes/scenarios/cheats.js';
import { DEFAULT_SETTINGS } from '../../cli/settlement/deploy-settings.js';
import { images, smallClassifier } from '../../executor/testing/digits.js';
import { FullTrace } from '../../fraud-proofs/nodes/full-trace.js';
import { tamperTrace } from '../../fraud-proofs/step/inject.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import { MAX_CONTRACTION } from '../../fraud-proofs/step/sums.js';
import { evaluateGraph, type Bundle } from '../../graph/index.js';
import type { PolicyParameters } from '../../verifier-contracts/deploy.js';

export const SHORT_POLICY: PolicyParameters = {
  ...DEFAULT_SETTINGS.policy,
  deliveryWindow: 40,
  answerTime: 20,
  responseTime: 14,
  precommitDelay: 2,
  minDeliver: 1,
};
export const SHORT_WINDOW = 40;

export const startShortArena = (change: Partial<PolicyParameters> = {}): Promise<Arena> =>
  Arena.start({
    policy: { ...SHORT_POLICY, ...change },
    window: SHORT_WINDOW,
    maxContraction: MAX_CONTRACTION,
    clock: 'blocknumber',
  });

/** The small classifier; with boundaries, all but the ends of its slots are left out. */
export const shortBundle = (boundaries: boolean): Bundle => {
  const bundle = smallClassifier(1);
  return boundaries ? withBoundaries(bundle) : bundle;
};

/** The right trace, or one with one unit changed in the middle. */
export function shortTrace(bundle: Bundle, lying: boolean): FullTrace {
  const model = new StepModel(bundle);
  const inputs = images(1, 1);
  if (lying) return tamperTrace(model, inputs, 1, { at: { slot: 2 }, element: 2, delta: 1, downstream: true }).trace;
  const values = evaluateGraph(bundle.graph, inputs, 1);
  return new FullTrace(
    model,
    model.slots.map((id) => values[id]!),
    1,
  );
}

export async function shortClaim(arena: Arena, name: string, lying: boolean, boundaries = false): Promise<ArenaClaim> {
  const bundle = shortBundle(boundaries);
  return arena.claim(await arena.executor(name), bundle, shortTrace(bundle, lying));
}
