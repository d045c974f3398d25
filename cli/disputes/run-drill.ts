/**
 * A drill: every kind of dispute, played on an own chain with the real contracts and the terms of a real deployment, and
 * won by whoever is honest, or the drill fails. Time is moved on instead of waited for; everything else is as it will be.
 */
import { evaluateGraph, slotsOf, type Bundle } from '../../graph/index.js';
import { AssayError } from '../../common/errors.js';
import { longContractions } from '../../fraud-proofs/step/evaluate-element.js';
import { KnownClaim } from '../../fraud-proofs/nodes/known-claim.js';
import type { Tamper } from '../../fraud-proofs/step/inject.js';
import { StepModel } from '../../fraud-proofs/step/step-model.js';
import { ClaimReader, MAX_CONTRACTION } from '../../fraud-proofs/step/sums.js';
import { requireSupported } from '../../fraud-proofs/step/supports.js';
import type { Receipt } from '../../receipts/types.js';
import { DEFAULT_SETTINGS } from '../settlement/deploy-settings.js';
import { Arena, SCENARIOS, SHORT_STEP_SCENARIOS, type Scenario, type ScenarioReport } from './scenarios/index.js';

export interface DrillOptions {
  readonly bundle: Bundle;
  readonly inputs: readonly Int32Array[];
  readonly items: number;
  /** What the cheats change; null: one unit of an element in the middle of the model. */
  readonly lie: Tamper | null;
  /** Names of the scenarios to play; null: all. */
  readonly only: readonly string[] | null;
  /** The watcher of the first scenario is a process of its own. */
  readonly separate: boolean;
  readonly onScenario: (scenario: Scenario) => (report: ScenarioReport) => void;
}

export interface DrillReport {
  readonly lie: Tamper;
  readonly scenarios: readonly ScenarioReport[];
}

/** From the commit in which a claim may be challenged: a day, as the deployment's window for the output. */
export const WINDOW = DEFAULT_SETTINGS.policy.deliveryWindow;

/** @throws AssayError TAMPER_INVALID, MODEL_UNSUPPORTED, DRILL_FAILED (a watcher that does not work at all), CONFIG_INVALID */
export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const { bundle, inputs, items, only, separate, onScenario } = options;
  requireSupported(bundle.graph);
  const model = new StepModel(bundle);
  const lie = options.lie ?? someLie(model, inputs, items);
  const wanted = ({ name }: Scenario): boolean => only === null || only.includes(name);
  const unknown = only?.find((name) => ![...SCENARIOS, ...SHORT_STEP_SCENARIOS].some((one) => one.name === name));
  if (unknown !== undefined)
    throw new AssayError('CONFIG_INVALID', `there is no scenario "${unknown.slice(0, 80)}"`, {
      mend: `Give some of ${[...SCENARIOS, ...SHORT_STEP_SCENARIOS].map(({ name }) => name).join(', ')}.`,
    });
  const reports: ScenarioReport[] = [];
  const play = async (scenarios: readonly Scenario[], maxContraction: number, told: Tamper): Promise<void> => {
    if (scenarios.length === 0) return;
    const arena = await Arena.start({ policy: DEFAULT_SETTINGS.policy, window: WINDOW, maxContraction });
    try {
      for (const scenario of scenarios) {
        const done = onScenario(scenario);
        const first = separate && scenario === SCENARIOS[0];
        const report = await scenario.play({ arena, bundle, inputs, items, lie: told, separate: first });
        reports.push(report);
        done(report);
      }
    } finally {
      await arena.stop();
    }
  };
  await play(SCENARIOS.filter(wanted), MAX_CONTRACTION, lie);
  const long = longest(model);
  if (long !== null)
    await play(
      SHORT_STEP_SCENARIOS.filter(wanted),
      Math.ceil(long.length / 3),
      lieAbout(model, inputs, items, long.slot),
    );
  return { lie, scenarios: reports };
}

/** One unit, in the middle of the model. */
export function someLie(model: StepModel, inputs: readonly Int32Array[], items: number): Tamper {
  const computed = model.slotCount - model.header.inputs;
  return lieAbout(model, inputs, items, model.header.inputs + Math.floor(computed / 2));
}

/** One unit of the first element that can be moved by one. */
function lieAbout(model: StepModel, inputs: readonly Int32Array[], items: number, slot: number): Tamper {
  const values = evaluateGraph(model.model.graph, inputs, items);
  const id = slotsOf(model.model.graph)[slot]!;
  const { lo, hi } = model.infoOfSlot(slot).range;
  const element = values[id]!.findIndex((v) => v > lo || v < hi);
  return { at: { slot }, element, delta: values[id]![element]! < hi ? 1 : -1, downstream: true };
}

/** The slot with the longest contraction in it; null where the model has none. */
function longest(model: StepModel): { readonly slot: number; readonly length: number } | null {
  const reader = new ClaimReader(model, new KnownClaim({} as Receipt), 1);
  let best: { slot: number; length: number } | null = null;
  for (let slot = model.header.inputs; slot < model.slotCount; slot++) {
    const long = longContractions(reader, model.valueOfSlot[slot]!, 0);
    // One contraction alone may be asked for.
    if (long.length === 1 && long[0]!.length > (best?.length ?? 1)) best = { slot, length: long[0]!.length };
  }
  return best;
}
