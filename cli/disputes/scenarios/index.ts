/** Every play, in the order in which a drill shows them. The demo plays some of them too. */
import { falseAccuser } from './accuser.js';
import { answeringCheat, boundaryCheat, servingCheat, sumsCheat, withholdingCheat } from './cheats.js';
import type { Scenario } from './scenario.js';
import { shillChallenger } from './shill.js';

export { Arena, type ArenaOptions } from './arena.js';
export { moneyTable } from './money.js';
export { honestWins, type Scenario, type ScenarioContext, type ScenarioReport } from './scenario.js';

/** In an arena with the terms of a real deployment. */
export const SCENARIOS: readonly Scenario[] = [
  servingCheat,
  answeringCheat,
  withholdingCheat,
  boundaryCheat,
  falseAccuser,
  shillChallenger,
];

/** In an arena whose step contract takes only short contractions. */
export const SHORT_STEP_SCENARIOS: readonly Scenario[] = [sumsCheat];
