/**
 * The rules of the optimistic lane as a program that can be run: what each call does to one claim, by whom it may be refused,
 * and whose the money is. Written from the text of IDisputeGame.sol and the rules of Escrow, without the contracts' code; it
 * keeps plain lists where those keep what is cheap.
 *
 * Symbols: t0 = 0 the commit; W, A, R, D = A + R as there; a node has a level l and a parent. Time is the raw one; what rules
 * compare is the clock, which stands still in a freeze. Steps of every call:
 *   1. `play` finds all reasons to refuse it. The text gives no order among them, so a contract may name any one.
 *   2. Else it moves the claim's facts (who did what when), and the money with them.
 *   3. `ownersOf` says from the facts alone whose each unit is; what was moved must agree with it after each call.
 *
 * Amounts are numbers: all of them together stay below 2^53.
 */

/** An account of Escrow. */
export type Owner = string;

export interface ModelNode {
  readonly name: string;
  readonly level: number;
  /** Index of the node whose answer reveals it; null of a root. */
  readonly parent: number | null;
  /** Trace, inputs, outputs: no surcharge, and counted for none. */
  readonly free: boolean;
  /** Only the executor can say it. */
  readonly statement: boolean;
  /** Table costs: of the largest answer, and of the one that it gets. */
  readonly mostCost: number;
  readonly cost: number;
}

export interface ModelTerms {
  readonly window: number;
  readonly deliveryWindow: number;
  readonly answerTime: number;
  readonly responseTime: number;
  readonly precommitDelay: number;
  readonly maxFreeze: number;
  readonly coolDown: number;
  /** So many demands have no surcharge but one, and so many have one price. */
  readonly freeDemands: number;
  readonly demandsAStep: number;
  readonly nodes: readonly ModelNode[];
  /** Table cost of a demanded part of the output. */
  readonly outputCost: number;
  readonly price: number;
  readonly surcharge: number;
  readonly amount: number;
  readonly fee: number;
  readonly lock: number;
  readonly noShowFee: number;
  readonly bounty: number;
  readonly gas: number;
}

export type GameCall =
  | { readonly do: 'demand'; readonly by: Owner; readonly node: number; readonly allowed?: boolean }
  /** `signed`, `right`: what the sender brings. */
  | {
      readonly do: 'answer';
      readonly by: Owner;
      readonly node: number;
      readonly right?: boolean;
      readonly signed?: boolean;
    }
  | { readonly do: 'precommit'; readonly by: Owner; readonly fault: number; readonly beneficiary: Owner }
  /** `found`: what the step contract says; `relies`: on an answer to this node. */
  | {
      readonly do: 'prove' | 'claimBounty';
      readonly by: Owner;
      readonly fault: number;
      readonly beneficiary: Owner;
      readonly found?: boolean;
      readonly relies?: number;
    }
  | { readonly do: 'timeout' | 'settle' | 'equivocate' | 'freeze' | 'unfreeze'; readonly by: Owner }
  | { readonly do: 'close'; readonly by: Owner; readonly nodes: readonly number[] }
  | { readonly do: 'demandOutput' | 'answerOutput'; readonly by: Owner; readonly part: number };

interface Answer {
  readonly sender: Owner;
  readonly payee: Owner;
}

export interface Made {
  readonly node: number;
  readonly demander: Owner;
  readonly at: number;
  /** Base deposits on top of the first. */
  readonly multiple: number;
  readonly answer: Answer | null;
  readonly closed: boolean;
}

interface OutputMade {
  readonly part: number;
  readonly at: number;
  readonly answer: Answer | null;
}

interface Reward {
  readonly killedAt: number;
  readonly until: number;
  /** Who has it; null while it is open. */
  readonly to: Owner | null;
}

export interface GameState {
  /** Raw. */
  readonly time: number;
  readonly freeze: { readonly start: number; readonly end: number; readonly earlier: number } | null;
  /** In the order in which they were made. */
  readonly made: readonly Made[];
  readonly outputs: readonly OutputMade[];
  readonly precommits: readonly { readonly fault: number; readonly beneficiary: Owner; readonly at: number }[];
  /** Of a proof. */
  readonly reward: Reward | null;
  /** The demander whom the timeout paid. */
  readonly timedOut: Owner | null;
  /** A second receipt killed the leaf. */
  readonly receiptKilled: boolean;
  readonly order:
    | { readonly is: 'bound' }
    | { readonly is: 'paid' }
    | { readonly is: 'refunded' }
    /** `gasTo`: of one by the clock. `stands`: the leaf was final, so answers about the output were paid. */
    | {
        readonly is: 'slashed';
        readonly cause: 'proof' | 'clock' | 'receipt';
        readonly gasTo: Owner;
        readonly stands: boolean;
      };
  readonly money: Readonly<Record<Owner, number>>;
}

export type Played = { readonly refused: readonly string[] } | { readonly refused: null; readonly state: GameState };

export const EXECUTOR = 'account';
export const REQUESTER = 'requester';
export const GOVERNOR = 'governor';
export const GUARDIAN = 'guardian';

export const slotOf = ({ answerTime, responseTime }: ModelTerms): number => answerTime + responseTime;

export const heldOf = ({ price, surcharge }: ModelTerms): number => price + surcharge;

export function begin(terms: ModelTerms): GameState {
  return {
    time: 0,
    freeze: null,
    made: [],
    outputs: [],
    precommits: [],
    reward: null,
    timedOut: null,
    receiptKilled: false,
    order: { is: 'bound' },
    money: { orders: heldOf(terms), locks: terms.lock },
  };
}

// --- What follows from the facts

export function isFrozen({ freeze, time }: GameState): boolean {
  return freeze !== null && time < freeze.end;
}

export function clockOf({ freeze, time }: GameState): number {
  if (freeze === null) return time;
  return (time < freeze.end ? freeze.start : time - (freeze.end - freeze.start)) - freeze.earlier;
}

/** Those that wait for an answer, in the order in which they are due. */
export function waitingOf({ made }: GameState): Made[] {
  return made.filter(({ answer }) => answer === null);
}

export function overdueOf(terms: ModelTerms, state: GameState): Made | null {
  const first = waitingOf(state)[0];
  return first !== undefined && clockOf(state) > first.at + terms.answerTime ? first : null;
}

/** Last time at which the claim is open, where it lives on. */
export function untilOf(terms: ModelTerms, { made }: GameState): number {
  const levels = made.map(({ node }) => terms.nodes[node]!.level + 1);
  return terms.window + Math.max(0, ...levels) * slotOf(terms);
}

export function resultOf(terms: ModelTerms, state: GameState): 'open' | 'final' | 'dead' {
  if (state.reward !== null || state.receiptKilled || overdueOf(terms, state) !== null) return 'dead';
  return clockOf(state) > untilOf(terms, state) ? 'final' : 'open';
}

export function baseOf(terms: ModelTerms, node: number): number {
  return Math.floor((terms.nodes[node]!.mostCost * 6) / 5);
}

const outputBase = ({ outputCost }: ModelTerms): number => Math.floor((outputCost * 6) / 5);

function outputsBy(terms: ModelTerms, state: GameState): { waiting: number; late: number } {
  const open = state.outputs.filter(({ answer }) => answer === null);
  const late = open.filter(({ at }) => clockOf(state) > at + terms.answerTime).length;
  return { waiting: open.length - late, late };
}

const announcedAt = (state: GameState, fault: number, beneficiary: Owner): number | null =>
  state.precommits.find((one) => one.fault === fault && one.beneficiary === beneficiary)?.at ?? null;

/** The executor earns in the first half of the time to answer. */
function answerBy(terms: ModelTerms, clock: number, at: number, sender: Owner, statement = false): Answer {
  const early = clock <= at + terms.answerTime / 2;
  return { sender, payee: early || statement ? EXECUTOR : sender };
}

// --- Whose the money is

/** Every unit of money by its owner, from what happened: changes against the time before the order for the free ones. */
export function ownersOf(terms: ModelTerms, state: GameState): Record<Owner, number> {
  const money: Record<Owner, number> = {};
  const add = (owner: Owner, amount: number): void => {
    money[owner] = (money[owner] ?? 0) + amount;
  };
  const dead = resultOf(terms, state) === 'dead';
  for (const { node, demander, multiple, answer, closed } of state.made) {
    const deposit = baseOf(terms, node) * (1 + multiple);
    add(demander, -deposit);
    if (!closed) add('deposits', deposit);
    else if (dead || answer === null) add(demander, deposit);
    else {
      const { cost } = terms.nodes[node]!;
      add(answer.payee, cost);
      add('burnt', baseOf(terms, node) * multiple);
      add(demander, baseOf(terms, node) - cost);
    }
  }
  const { order } = state;
  const standing = order.is === 'paid' || order.is === 'refunded' || (order.is === 'slashed' && order.stands);
  for (const { answer } of state.outputs) {
    add(REQUESTER, -outputBase(terms));
    add(order.is === 'bound' ? 'outputs' : REQUESTER, outputBase(terms));
    if (!standing || answer === null) continue;
    add(REQUESTER, -terms.outputCost);
    add(answer.payee, terms.outputCost);
  }
  if (order.is === 'bound') {
    add('orders', heldOf(terms));
    add('locks', terms.lock);
  } else if (order.is === 'paid') {
    add('reserve', terms.surcharge);
    add(GOVERNOR, terms.fee);
    add(REQUESTER, terms.price - terms.amount);
    add(EXECUTOR, terms.amount - terms.fee + terms.lock);
  } else if (order.is === 'refunded') {
    add(REQUESTER, heldOf(terms) + terms.noShowFee);
    add(EXECUTOR, terms.lock - terms.noShowFee);
  } else {
    add(REQUESTER, heldOf(terms));
    add('burnt', terms.lock - terms.bounty - terms.gas);
    if (order.cause === 'receipt') add('equivocations', terms.bounty + terms.gas);
    else if (order.cause === 'proof') add(state.reward!.to ?? 'bounties', terms.bounty + terms.gas);
    else {
      add(order.gasTo, terms.gas);
      add(state.timedOut ?? 'bounties', terms.bounty);
    }
  }
  return money;
}

/** All of it: nothing comes and nothing goes. */
export function totalOf(money: Readonly<Record<Owner, number>>): number {
  return Object.values(money).reduce((a, b) => a + b, 0);
}

/** Owners whose sums are not the same. */
export function differences(a: Readonly<Record<Owner, number>>, b: Readonly<Record<Owner, number>>): string[] {
  const owners = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...owners]
    .filter((owner) => (a[owner] ?? 0) !== (b[owner] ?? 0))
    .map((owner) => `${owner}: ${a[owner] ?? 0} and ${b[owner] ?? 0}`);
}

// --- Calls

type Move = readonly [from: Owner, to: Owner, amount: number];

const refuse = (...refused: string[]): Played => ({ refused });

/** Facts and moves of money of a call that is not refused. */
function done(state: GameState, change: Partial<GameState>, moves: readonly Move[] = []): Played {
  const money = { ...state.money };
  for (const [from, to, amount] of moves) {
    money[from] = (money[from] ?? 0) - amount;
    money[to] = (money[to] ?? 0) + amount;
  }
  return { refused: null, state: { ...state, ...change, money } };
}

/** @param state at the time of the call */
export function play(terms: ModelTerms, state: GameState, call: GameCall): Played {
  if (call.do === 'freeze' || call.do === 'unfreeze') return playFreeze(terms, state, call);
  if (isFrozen(state)) return refuse('Frozen');
  switch (call.do) {
    case 'demand':
      return playDemand(terms, state, call);
    case 'answer':
      return playAnswer(terms, state, call);
    case 'precommit':
      return playPrecommit(state, call);
    case 'prove':
      return playProof(terms, state, call);
    case 'claimBounty':
      return playClaim(terms, state, call);
    case 'timeout':
      return playTimeout(terms, state, call.by);
    case 'settle':
      return playSettle(terms, state, call.by);
    case 'equivocate':
      return playEquivocation(terms, state);
    case 'close':
      return playClose(terms, state, call.nodes);
    case 'demandOutput':
      return playOutputDemand(terms, state, call);
    case 'answerOutput':
      return playOutputAnswer(terms, state, call);
  }
}

type Of<K extends GameCall['do'], C = GameCall> = C extends { readonly do: infer D }
  ? K extends D
    ? C
    : never
  : never;

function playFreeze(terms: ModelTerms, state: GameState, { do: what, by }: Of<'freeze'>): Played {
  if (by !== GUARDIAN) return refuse('Unauthorized');
  const { freeze, time } = state;
  if (what === 'unfreeze') {
    if (!isFrozen(state)) return refuse('FreezeUnavailable');
    return done(state, { freeze: { ...freeze!, end: time } });
  }
  if (freeze !== null && time <= freeze.start + terms.maxFreeze + terms.coolDown) return refuse('FreezeUnavailable');
  const earlier = freeze === null ? 0 : freeze.earlier + freeze.end - freeze.start;
  return done(state, { freeze: { start: time, end: time + terms.maxFreeze, earlier } });
}

/** Why nobody can act on the claim any more. */
function endedBy(terms: ModelTerms, state: GameState): string[] {
  const result = resultOf(terms, state);
  if (result === 'dead') return ['ClaimDead'];
  return result === 'final' ? ['ClaimFinal'] : [];
}

function playDemand(terms: ModelTerms, state: GameState, { by, node, allowed }: Of<'demand'>): Played {
  const { level, parent, free } = terms.nodes[node]!;
  const clock = clockOf(state);
  const refused = endedBy(terms, state);
  if (state.made.some((one) => one.node === node)) refused.push('DemandKnown');
  if (allowed === false) refused.push('NoStatement');
  if (clock > terms.window) {
    if (clock > terms.window + level * slotOf(terms)) refused.push('TooLate');
    const above = state.made.find((one) => one.node === parent);
    if (parent !== null && (above?.answer ?? null) === null) refused.push('ParentUnanswered');
  }
  if (refused.length > 0) return { refused };
  const before = state.made.filter((one) => !terms.nodes[one.node]!.free).length;
  const multiple =
    free || before <= terms.freeDemands ? 0 : Math.floor((before - terms.freeDemands) / terms.demandsAStep);
  const made: Made = { node, demander: by, at: clock, multiple, answer: null, closed: false };
  return done(state, { made: [...state.made, made] }, [[by, 'deposits', baseOf(terms, node) * (1 + multiple)]]);
}

function playAnswer(terms: ModelTerms, state: GameState, { by, node, right, signed }: Of<'answer'>): Played {
  const made = state.made.find((one) => one.node === node);
  if (made === undefined) return refuse('DemandUnknown');
  const clock = clockOf(state);
  const refused: string[] = [];
  if (made.answer !== null) refused.push('DemandAnswered');
  // Of a claim that a second receipt killed answers are taken, and earn nothing.
  if (state.reward !== null || overdueOf(terms, state) !== null) refused.push('ClaimDead');
  const { statement } = terms.nodes[node]!;
  if (right === false) refused.push('AnswerInvalid');
  if (statement && signed === false) refused.push('OpeningUnsigned');
  if (refused.length > 0) return { refused };
  const answer = answerBy(terms, clock, made.at, by, statement);
  return done(state, { made: state.made.map((one) => (one === made ? { ...one, answer } : one)) });
}

function playPrecommit(state: GameState, { fault, beneficiary }: Of<'precommit'>): Played {
  if (announcedAt(state, fault, beneficiary) !== null) return done(state, {});
  return done(state, { precommits: [...state.precommits, { fault, beneficiary, at: clockOf(state) }] });
}

/** Why the step contract's finding does not count. */
function unfounded(terms: ModelTerms, state: GameState, { found, relies }: Of<'prove'>): string[] {
  if (found === false) return ['NoFault'];
  if (relies === undefined) return [];
  // What a hash binds nobody has said.
  if (!terms.nodes[relies]!.statement) return ['RelianceUnknown'];
  const said = state.made.find(({ node }) => node === relies)?.answer ?? null;
  return said === null ? ['RelianceUnknown'] : [];
}

/** The order's money when the leaf is dead: the lock's `paid` is for those who told. */
function slashing(terms: ModelTerms, state: GameState, paid: readonly Move[]): Move[] {
  const told = paid.reduce((sum, [, , amount]) => sum + amount, 0);
  return [
    ['orders', REQUESTER, heldOf(terms)],
    ['outputs', REQUESTER, outputBase(terms) * state.outputs.length],
    ...paid,
    ['locks', 'burnt', terms.lock - told],
  ];
}

function playProof(terms: ModelTerms, state: GameState, call: Of<'prove'>): Played {
  const refused = [...endedBy(terms, state), ...unfounded(terms, state, call)];
  if (refused.length > 0) return { refused };
  const clock = clockOf(state);
  const announced = announcedAt(state, call.fault, call.beneficiary);
  const counts = announced !== null && clock >= announced + terms.precommitDelay;
  const to = counts ? call.beneficiary : null;
  return done(
    state,
    {
      reward: { killedAt: clock, until: clock + terms.responseTime, to },
      order: { is: 'slashed', cause: 'proof', gasTo: call.by, stands: false },
    },
    slashing(terms, state, [['locks', to ?? 'bounties', terms.bounty + terms.gas]]),
  );
}

function playClaim(terms: ModelTerms, state: GameState, call: Of<'claimBounty'>): Played {
  const { reward } = state;
  if (reward === null || reward.to !== null) return refuse('BountyUnavailable');
  const clock = clockOf(state);
  const amount = terms.bounty + terms.gas;
  if (clock > reward.until) return done(state, { reward: { ...reward, to: 'burnt' } }, [['bounties', 'burnt', amount]]);
  const refused = unfounded(terms, state, call);
  const announced = announcedAt(state, call.fault, call.beneficiary);
  if (announced === null || announced >= reward.killedAt || clock < announced + terms.precommitDelay)
    refused.push('BountyUnavailable');
  if (refused.length > 0) return { refused };
  const to = call.beneficiary;
  return done(state, { reward: { ...reward, to } }, [['bounties', to, amount]]);
}

function playTimeout(terms: ModelTerms, state: GameState, by: Owner): Played {
  if (state.reward !== null || state.receiptKilled || state.timedOut !== null) return refuse('ClaimDead');
  const first = overdueOf(terms, state);
  if (first === null) return refuse('NotOverdue');
  const { demander } = first;
  if (state.order.is !== 'bound') return done(state, { timedOut: demander }, [['bounties', demander, terms.bounty]]);
  return done(
    state,
    { timedOut: demander, order: { is: 'slashed', cause: 'clock', gasTo: by, stands: false } },
    slashing(terms, state, [
      ['locks', demander, terms.bounty],
      ['locks', by, terms.gas],
    ]),
  );
}

/** Of a leaf that stands: answers about the output are paid for. */
function outputMoves(terms: ModelTerms, state: GameState): Move[] {
  return state.outputs.flatMap(({ answer }): Move[] => {
    if (answer === null) return [['outputs', REQUESTER, outputBase(terms)]];
    return [
      ['outputs', answer.payee, terms.outputCost],
      ['outputs', REQUESTER, outputBase(terms) - terms.outputCost],
    ];
  });
}

function playSettle(terms: ModelTerms, state: GameState, by: Owner): Played {
  if (state.order.is !== 'bound') return refuse('NothingSettled');
  const result = resultOf(terms, state);
  if (result === 'dead')
    return done(
      state,
      { order: { is: 'slashed', cause: 'clock', gasTo: by, stands: false } },
      slashing(terms, state, [
        ['locks', 'bounties', terms.bounty],
        ['locks', by, terms.gas],
      ]),
    );
  if (result === 'open') return refuse('NotFinal');
  const { waiting, late } = outputsBy(terms, state);
  if (waiting > 0) return refuse('DeliveryOpen');
  const moves = outputMoves(terms, state);
  if (late > 0)
    return done(state, { order: { is: 'refunded' } }, [
      ...moves,
      ['orders', REQUESTER, heldOf(terms)],
      ['locks', REQUESTER, terms.noShowFee],
      ['locks', EXECUTOR, terms.lock - terms.noShowFee],
    ]);
  if (clockOf(state) <= terms.deliveryWindow) return refuse('DeliveryOpen');
  return done(state, { order: { is: 'paid' } }, [
    ...moves,
    ['orders', 'reserve', terms.surcharge],
    ['orders', GOVERNOR, terms.fee],
    ['orders', EXECUTOR, terms.amount - terms.fee],
    ['orders', REQUESTER, terms.price - terms.amount],
    ['locks', EXECUTOR, terms.lock],
  ]);
}

function playEquivocation(terms: ModelTerms, state: GameState): Played {
  if (state.order.is !== 'bound') return refuse('OrderStateIs');
  const result = resultOf(terms, state);
  if (result === 'dead') return refuse('LeafDead');
  const stands = result === 'final';
  const reward: Move = ['locks', 'equivocations', terms.bounty + terms.gas];
  const moves: Move[] = stands
    ? [
        ...outputMoves(terms, state),
        ['orders', REQUESTER, heldOf(terms)],
        reward,
        ['locks', 'burnt', terms.lock - terms.bounty - terms.gas],
      ]
    : slashing(terms, state, [reward]);
  const order = { is: 'slashed', cause: 'receipt', gasTo: REQUESTER, stands } as const;
  return done(state, { receiptKilled: !stands, order }, moves);
}

function playClose(terms: ModelTerms, state: GameState, nodes: readonly number[]): Played {
  const refused: string[] = [];
  const result = resultOf(terms, state);
  if (result === 'open') refused.push('ClaimOpen');
  if (nodes.some((node) => state.made.every((one) => one.node !== node))) refused.push('DemandUnknown');
  if (refused.length > 0) return { refused };
  const moves: Move[] = [];
  const made = state.made.map((one) => {
    if (!nodes.includes(one.node) || one.closed) return one;
    const { node, demander, multiple, answer } = one;
    const base = baseOf(terms, node);
    if (result === 'dead') moves.push(['deposits', demander, base * (1 + multiple)]);
    else {
      const { cost } = terms.nodes[node]!;
      moves.push(['deposits', answer!.payee, cost]);
      moves.push(['deposits', 'burnt', base * multiple]);
      moves.push(['deposits', demander, base - cost]);
    }
    return { ...one, closed: true };
  });
  return done(state, { made }, moves);
}

function playOutputDemand(terms: ModelTerms, state: GameState, { by, part }: Of<'demandOutput'>): Played {
  const refused: string[] = [];
  if (by !== REQUESTER) refused.push('Unauthorized');
  if (state.order.is !== 'bound') refused.push('OrderStateIs');
  if (resultOf(terms, state) === 'dead') refused.push('LeafDead');
  if (outputsBy(terms, state).late > 0 || clockOf(state) > terms.deliveryWindow) refused.push('DemandClosed');
  if (state.outputs.some((one) => one.part === part)) refused.push('DemandInvalid');
  if (refused.length > 0) return { refused };
  const outputs = [...state.outputs, { part, at: clockOf(state), answer: null }];
  return done(state, { outputs }, [[REQUESTER, 'outputs', outputBase(terms)]]);
}

function playOutputAnswer(terms: ModelTerms, state: GameState, { by, part }: Of<'answerOutput'>): Played {
  const refused: string[] = [];
  if (state.order.is !== 'bound') refused.push('OrderStateIs');
  const made = state.outputs.find((one) => one.part === part);
  const clock = clockOf(state);
  if (made === undefined) refused.push('DemandUnknown');
  else if (made.answer !== null) refused.push('DemandAnswered');
  else if (clock > made.at + terms.answerTime) refused.push('DemandClosed');
  if (refused.length > 0) return { refused };
  const answer = answerBy(terms, clock, made!.at, by);
  return done(state, { outputs: state.outputs.map((one) => (one === made ? { ...one, answer } : one)) });
}
