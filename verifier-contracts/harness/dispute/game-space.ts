/**
 * All games of the model (game-model.ts), within bounds.
 *
 * Symbols: small times, W = A = 2, R = 3, delivery and a precommit's delay 1, so that ticks one after the other pass T - 1, T and T + 1 of
 * every deadline; three levels, of the last one two nodes. Two spaces:
 *   free     anybody calls anything, `calls` calls in all; after each one every unit of money is its owner's by the facts, what
 *            ended stays ended, and from every state all money comes out.
 *   honest   in each tick an adversary calls, then the honest ones, then he again, `calls` calls in all; he is everybody
 *            else. Answers of a dishonest executor are not counted, so that games go down to the chunk whatever else he
 *            does. Ends are judged by what the honest ones were promised.
 * Helpers are alike, and so are challengers of the free space: of games that differ in their names one is played.
 */
import {
  begin,
  clockOf,
  differences,
  EXECUTOR,
  overdueOf,
  ownersOf,
  play,
  REQUESTER,
  resultOf,
  slotOf,
  totalOf,
  untilOf,
  waitingOf,
  type GameCall,
  type GameState,
  type ModelTerms,
  type Owner,
} from './game-model.js';

const node = (
  name: string,
  level: number,
  parent: number | null,
  mostCost: number,
  cost = mostCost,
): ModelTerms['nodes'][number] => ({ name, level, parent, free: parent === null, statement: false, mostCost, cost });

/** Amounts whose sums tell which ones they are of. */
export const SMALL: ModelTerms = {
  window: 2,
  deliveryWindow: 1,
  answerTime: 2,
  responseTime: 3,
  precommitDelay: 1,
  maxFreeze: 0,
  coolDown: 0,
  // The second demand below a root is the last one without a surcharge.
  freeDemands: 1,
  demandsAStep: 1,
  nodes: [
    node('trace', 0, null, 10, 5),
    node('tensor', 1, 0, 100, 55),
    node('chunk', 2, 1, 1_000),
    node('other', 2, 1, 1_000),
  ],
  outputCost: 10_000,
  price: 3_000_000,
  surcharge: 200_000,
  amount: 1_000_000,
  fee: 70_000,
  lock: 900_000_000,
  noShowFee: 4_000_000,
  bounty: 80_000_000,
  gas: 10_000_000,
};

const LEVELS = 3;
/** The last tick at which anything is open. */
const FINALITY = SMALL.window + LEVELS * slotOf(SMALL);
const HORIZON = FINALITY + SMALL.responseTime + 2;

/** A property that does not hold, with the shortest way there that was found. */
export class Violation extends Error {
  constructor(what: string, way: readonly string[]) {
    super(`${what}\n  ${way.join('\n  ')}`);
  }
}

export interface Explored {
  readonly states: number;
  /** Calls that were played, refused ones included. */
  readonly played: number;
  readonly ends: number;
  /** Free: what calls were refused with, and what they did. Honest: how the games ended. */
  readonly labels: ReadonlySet<string>;
}

interface Way {
  readonly state: GameState;
  readonly phase: number;
  readonly left: number;
  readonly before: Way | null;
  readonly step: string;
}

function wayTo(way: Way | null): string[] {
  const steps: string[] = [];
  for (; way !== null; way = way.before) if (way.step !== '') steps.push(way.step);
  return steps.reverse();
}

const write = (time: number, call: GameCall): string => `${time} ${JSON.stringify(call)}`;

const short = (owner: Owner): string => owner.slice(0, 2);

/** What the rest of a game depends on: of what was answered only who earns, of announcements that count not since when. */
function keyOf(state: GameState): string {
  const { reward, order } = state;
  const made = state.made.map(({ node: n, demander, at, multiple, answer, closed }) =>
    [n, short(demander), answer === null ? at : short(answer.payee), multiple, closed ? 1 : 0].join(''),
  );
  // The order in which answered ones were made is of no more use.
  const waiting = state.made.flatMap(({ answer, node: n }) => (answer === null ? [n] : []));
  const outputs = state.outputs.map(({ part, at, answer }) =>
    [part, answer === null ? at : short(answer.payee)].join(''),
  );
  const precommits = state.precommits.map(({ fault, beneficiary, at }) => [fault, short(beneficiary), at].join(''));
  const killed = reward === null ? '' : `${reward.killedAt}${reward.to ?? ''}`;
  const ended = order.is === 'slashed' ? `${order.cause}${short(order.gasTo)}${order.stands ? 1 : 0}` : order.is;
  const facts = [made.sort().join(), waiting.join(), outputs.join(), precommits.sort().join(), killed];
  return [state.time, ...facts, state.timedOut ?? '', state.receiptKilled ? 1 : 0, ended].join('|');
}

const allNodes = (state: GameState): number[] => state.made.map(({ node: n }) => n);

/** @throws Violation where the step broke what holds in every game */
function checkStep(terms: ModelTerms, before: GameState, after: GameState, way: () => string[]): void {
  const wrong = differences(after.money, ownersOf(terms, after));
  if (wrong.length > 0) throw new Violation(`not its owner's: ${wrong.join('; ')}`, way());
  if (totalOf(after.money) !== totalOf(before.money)) throw new Violation('money came or went', way());
  const [was, is] = [resultOf(terms, before), resultOf(terms, after)];
  if (was !== 'open' && is !== was) throw new Violation(`${was} became ${is}`, way());
  if (is === 'open' && clockOf(after) > FINALITY) throw new Violation('open after t0 + W + L D', way());
  for (const held of ['deposits', 'bounties', 'outputs', 'orders', 'locks', 'burnt'])
    if ((after.money[held] ?? 0) < 0) throw new Violation(`${held} below zero`, way());
  if (after.timedOut !== null && before.timedOut === null) {
    // The oldest of those that wait; the first of them where several are as old.
    const oldest = [...waitingOf(before)].sort((a, b) => a.at - b.at)[0];
    if (after.timedOut !== oldest?.demander) throw new Violation('not the first overdue demand', way());
  }
}

/** Ends the game by what anybody may call. @throws Violation where money stays behind */
function windUp(terms: ModelTerms, from: GameState, way: () => string[]): GameState {
  let state = { ...from, time: Math.max(from.time, HORIZON) };
  const by = 'helper';
  const calls: GameCall[] = [
    { do: 'timeout', by },
    { do: 'settle', by },
    { do: 'claimBounty', by, fault: 0, beneficiary: by },
    { do: 'close', by, nodes: allNodes(state) },
  ];
  for (const call of calls) {
    const played = play(terms, state, call);
    if (played.refused === null) state = played.state;
  }
  for (const held of ['deposits', 'bounties', 'outputs', 'orders', 'locks'])
    if ((state.money[held] ?? 0) !== 0) throw new Violation(`${held} never come out`, way());
  const result = resultOf(terms, state);
  const { order } = state;
  if (result === 'open') throw new Violation('never ends', way());
  if ((order.is === 'paid' || order.is === 'refunded') !== (result === 'final') && order.is !== 'slashed')
    throw new Violation(`${order.is} of a leaf that is ${result}`, way());
  if (order.is === 'slashed' && order.stands !== (result === 'final'))
    throw new Violation(`slashed of a leaf that is ${result}`, way());
  return state;
}

/** One after the other: the second of two alike appears after the first. */
function named(state: GameState, first: Owner, second: Owner): Owner[] {
  const { made, precommits, reward, outputs, order } = state;
  const seen =
    made.some(({ demander, answer }) => demander === first || answer?.sender === first) ||
    precommits.some(({ beneficiary }) => beneficiary === first) ||
    outputs.some(({ answer }) => answer?.sender === first) ||
    reward?.to === first ||
    (order.is === 'slashed' && order.gasTo === first);
  return seen ? [first, second] : [first];
}

export function freeCalls(terms: ModelTerms, state: GameState): GameCall[] {
  const challengers = named(state, 'watcher', 'hostile');
  const helpers = named(state, 'helper', 'stranger');
  const calls: GameCall[] = [];
  for (const [n] of terms.nodes.entries()) for (const by of challengers) calls.push({ do: 'demand', by, node: n });
  for (const { node: n } of state.made)
    for (const by of [EXECUTOR, ...helpers]) calls.push({ do: 'answer', by, node: n });
  for (const beneficiary of challengers) {
    const named_ = { by: 'helper', fault: 0, beneficiary } as const;
    calls.push({ do: 'precommit', ...named_ }, { do: 'prove', ...named_ }, { do: 'claimBounty', ...named_ });
  }
  for (const by of helpers) calls.push({ do: 'timeout', by }, { do: 'settle', by });
  calls.push({ do: 'equivocate', by: 'helper' }, { do: 'close', by: 'helper', nodes: allNodes(state) });
  calls.push({ do: 'demandOutput', by: REQUESTER, part: 0 });
  for (const by of [EXECUTOR, helpers[0]!]) calls.push({ do: 'answerOutput', by, part: 0 });
  return calls;
}

/**
 * Keys that were seen, by 64 bits of a hash of each: 8 bytes, where the key's text has a hundred. Of n states one is taken for
 * another and left out with a probability of n^2 / 2^65: 10^-5 for ten million.
 */
class Seen {
  size = 0;
  /** Open addressing; two words an entry, both zero where there is none. */
  #words = new Uint32Array(2 ** 16);

  /** False where it was there. */
  add(key: string): boolean {
    let [a, b] = [0x9e3779b9, 0x85ebca6b];
    for (let i = 0; i < key.length; i++) {
      const c = key.charCodeAt(i);
      a = Math.imul(a ^ c, 0x01000193);
      b = Math.imul((b ^ c) + (b >>> 15), 0xcc9e2d51);
    }
    a = Math.imul(a ^ (a >>> 16) ^ b, 0x7feb352d);
    b = Math.imul(b ^ (b >>> 13), 0x846ca68b);
    a ^= a >>> 15;
    b ^= b >>> 16;
    if (!this.#put(a >>> 0, b >>> 0 || 1)) return false;
    if (++this.size > this.#words.length / 4) this.#grow();
    return true;
  }

  #put(a: number, b: number): boolean {
    const words = this.#words;
    const mask = words.length - 1;
    for (let at = (2 * a) & mask; ; at = (at + 2) & mask) {
      if (words[at + 1] === 0) {
        words[at] = a;
        words[at + 1] = b;
        return true;
      }
      if (words[at] === a && words[at + 1] === b) return false;
    }
  }

  #grow(): void {
    const old = this.#words;
    this.#words = new Uint32Array(2 * old.length);
    for (let at = 0; at < old.length; at += 2) if (old[at + 1] !== 0) this.#put(old[at]!, old[at + 1]!);
  }
}

/** Steps from a way: by calls of whoever plays, and by time. */
type Expand = (way: Way, take: (next: Way) => void, count: () => void) => void;

function explore(
  terms: ModelTerms,
  calls: number,
  expand: Expand,
  end: (state: GameState, way: Way) => void,
): Omit<Explored, 'labels'> {
  const seen = new Seen();
  let [played, ends] = [0, 0];
  // A layer for each number of calls left, so that a state is met first with the most of them.
  const layers: Way[][] = Array.from({ length: calls + 1 }, () => []);
  const take = (next: Way): void => {
    const key = `${next.phase}${keyOf(next.state)}`;
    if (seen.add(key)) layers[next.left]!.push(next);
  };
  take({ state: begin(terms), phase: 0, left: calls, before: null, step: '' });
  for (let left = calls; left >= 0; left--) {
    const layer = layers[left]!;
    for (let way = layer.pop(); way !== undefined; way = layer.pop()) {
      if (way.state.time >= HORIZON) {
        end(way.state, way);
        ends++;
        continue;
      }
      expand(way, take, () => played++);
    }
  }
  return { states: seen.size, played, ends };
}

/** @throws Violation */
export function exploreFree(calls: number, terms: ModelTerms = SMALL): Explored {
  const labels = new Set<string>();
  const expand: Expand = (way, take, count) => {
    const { state, left } = way;
    windUp(terms, state, () => wayTo(way));
    const later = { ...state, time: state.time + 1 };
    checkStep(terms, state, later, () => wayTo(way));
    take({ ...way, state: later, before: way, step: '' });
    if (left === 0) return;
    for (const call of freeCalls(terms, state)) {
      const result = play(terms, state, call);
      count();
      for (const label of labelsOf(terms, state, call, result)) labels.add(label);
      if (result.refused !== null) continue;
      const next = { state: result.state, phase: 0, left: left - 1, before: way, step: write(state.time, call) };
      checkStep(terms, state, result.state, () => wayTo(next));
      take(next);
    }
  };
  const explored = explore(terms, calls, expand, (state, way) => windUp(terms, state, () => wayTo(way)));
  return { ...explored, labels };
}

/** For tests that a rule is needed. */
export type Rules = typeof play;

/** What the honest ones call next; null: nothing in this tick. */
type Honest = (terms: ModelTerms, state: GameState) => GameCall | null;

/** What he may call; of what is uncounted as much as he likes, since each such call can be made once. */
type Hostile = (state: GameState) => { readonly counted: readonly GameCall[]; readonly uncounted: readonly GameCall[] };

/** What was promised and is not so at the end, when all that can be paid out is; null: nothing. */
type Judge = (terms: ModelTerms, state: GameState) => string | null;

/** @throws Violation */
function exploreHonest(
  calls: number,
  terms: ModelTerms,
  honest: Honest,
  hostile: Hostile,
  judge: Judge,
  rules: Rules,
): Explored {
  const labels = new Set<string>();
  const expand: Expand = (way, take, count) => {
    const { state, phase, left } = way;
    // After his calls: in phase 0 the honest ones move, in phase 1 the tick ends.
    if (phase === 0) {
      let moved = { ...way, phase: 1 };
      for (let call = honest(terms, moved.state); call !== null; call = honest(terms, moved.state)) {
        const result = rules(terms, moved.state, call);
        count();
        if (result.refused !== null)
          throw new Violation(`refused to an honest one: ${result.refused.join()}`, [
            ...wayTo(moved),
            write(state.time, call),
          ]);
        const before = moved;
        moved = { ...moved, state: result.state, before, step: write(state.time, call) };
        checkStep(terms, before.state, result.state, () => wayTo(moved));
      }
      take(moved);
    } else {
      const later = { ...state, time: state.time + 1 };
      checkStep(terms, state, later, () => wayTo(way));
      take({ state: later, phase: 0, left, before: way, step: '' });
    }
    const { counted, uncounted } = hostile(state);
    for (const call of left === 0 ? uncounted : [...uncounted, ...counted]) {
      const result = rules(terms, state, call);
      count();
      if (result.refused !== null) continue;
      const rest = uncounted.includes(call) ? left : left - 1;
      const next = { state: result.state, phase, left: rest, before: way, step: write(state.time, call) };
      checkStep(terms, state, result.state, () => wayTo(next));
      take(next);
    }
  };
  const explored = explore(terms, calls, expand, (state, way) => {
    const wound = windUp(terms, state, () => wayTo(way));
    const broken = judge(terms, wound);
    if (broken !== null) throw new Violation(broken, wayTo(way));
    labels.add(endOf(wound));
  });
  return { ...explored, labels };
}

/** By what an order ended, and who has the bounty. */
export function endOf({ order, reward, timedOut }: GameState): string {
  if (order.is !== 'slashed') return order.is;
  return [order.cause, reward?.to ?? timedOut].filter((part) => part !== null).join(' to ');
}

/** Challengers and helpers who have no key of the executor's, and no fault to show. */
function accusations(terms: ModelTerms, state: GameState): GameCall[] {
  const challengers = named(state, 'watcher', 'hostile');
  const helpers = named(state, 'helper', 'stranger');
  const calls: GameCall[] = [];
  for (const [n] of terms.nodes.entries()) for (const by of challengers) calls.push({ do: 'demand', by, node: n });
  for (const { node: n } of waitingOf(state)) for (const by of helpers) calls.push({ do: 'answer', by, node: n });
  for (const beneficiary of challengers)
    calls.push({ do: 'prove', by: beneficiary, fault: 0, beneficiary, found: false });
  for (const by of helpers) calls.push({ do: 'timeout', by }, { do: 'settle', by });
  calls.push({ do: 'demandOutput', by: REQUESTER, part: 0 });
  for (const by of helpers) calls.push({ do: 'answerOutput', by, part: 0 });
  calls.push({ do: 'close', by: 'helper', nodes: allNodes(state) });
  return calls;
}

/**
 * What the executor of a right claim calls next; null: nothing now.
 * @param wait from a demand to his answer
 */
export function executorCall(state: GameState, wait: number): GameCall | null {
  const clock = clockOf(state);
  const due = waitingOf(state).find(({ at }) => clock >= at + wait);
  if (due !== undefined) return { do: 'answer', by: EXECUTOR, node: due.node };
  const part = state.outputs.find(({ at, answer }) => answer === null && clock >= at + wait);
  if (part !== undefined && state.order.is === 'bound') return { do: 'answerOutput', by: EXECUTOR, part: part.part };
  return null;
}

/** He is paid his price and the table cost of every answer, and nobody gains by accusing. */
export const judgeExecutor: Judge = (terms, { order, made, outputs, money }) => {
  if (order.is !== 'paid') return 'an honest executor is not paid';
  const costs = made.reduce((sum, { node: n }) => sum + terms.nodes[n]!.cost, 0);
  const earned = terms.amount - terms.fee + terms.lock + costs + terms.outputCost * outputs.length;
  if (money[EXECUTOR] !== earned) return `he has ${money[EXECUTOR]}, not ${earned}`;
  return Object.keys(ROLES).some((other) => (money[other] ?? 0) > 0) ? 'accusing pays' : null;
};

/**
 * A right claim, accused at will.
 * @param wait of the executor, from a demand to his answer: at most half of A
 * @throws Violation where he is slashed, or not paid his price and the table cost of every answer
 */
export function exploreHonestExecutor(
  calls: number,
  wait: number,
  terms: ModelTerms = SMALL,
  rules: Rules = play,
): Explored {
  const hostile: Hostile = (state) => ({ counted: accusations(terms, state), uncounted: [] });
  return exploreHonest(calls, terms, (_, state) => executorCall(state, wait), hostile, judgeExecutor, rules);
}

/** Since when he has announced something. */
const announced = (state: GameState, beneficiary: Owner): number =>
  Math.min(Infinity, ...state.precommits.filter((one) => one.beneficiary === beneficiary).map(({ at }) => at));

/**
 * What a watcher who knows fault 0 calls next; null: nothing now.
 * @param chain nodes that he needs, from a root on
 */
export function watcherCall(terms: ModelTerms, state: GameState, chain: readonly number[]): GameCall | null {
  const by = 'watcher';
  const mine = { by, fault: 0, beneficiary: by } as const;
  const clock = clockOf(state);
  const { reward } = state;
  const counts = clock >= announced(state, by) + terms.precommitDelay;
  if (reward !== null) {
    const open = reward.to === null && clock <= reward.until && announced(state, by) < reward.killedAt;
    return open && counts ? { do: 'claimBounty', ...mine } : null;
  }
  // Of a claim that a second receipt killed nothing is to be had.
  if (overdueOf(terms, state) !== null)
    return state.timedOut !== null || state.receiptKilled ? null : { do: 'timeout', by };
  if (resultOf(terms, state) !== 'open') return null;
  for (const wanted of chain) {
    const made = state.made.find((one) => one.node === wanted);
    if (made === undefined) return { do: 'demand', by, node: wanted };
    if (made.answer === null) return null;
  }
  if (announced(state, by) === Infinity) return { do: 'precommit', ...mine };
  if (!counts) return null;
  // What a hash binds holds without anybody's word.
  const last = chain.at(-1)!;
  return { do: 'prove', ...mine, ...(terms.nodes[last]!.statement ? { relies: last } : {}) };
}

/** The executor and all his friends: whatever he likes, except to call as the watcher. */
function defences(terms: ModelTerms, state: GameState): GameCall[] {
  const calls: GameCall[] = [];
  for (const [n] of terms.nodes.entries()) calls.push({ do: 'demand', by: 'hostile', node: n });
  for (const fault of [0, 1]) {
    const own = { by: 'hostile', fault, beneficiary: 'hostile' } as const;
    calls.push({ do: 'precommit', ...own }, { do: 'prove', ...own }, { do: 'claimBounty', ...own });
  }
  if (announced(state, 'watcher') < Infinity)
    calls.push({ do: 'precommit', by: 'hostile', fault: 0, beneficiary: 'watcher' });
  for (const what of ['timeout', 'settle', 'equivocate'] as const) calls.push({ do: what, by: 'hostile' });
  calls.push({ do: 'demandOutput', by: REQUESTER, part: 0 }, { do: 'answerOutput', by: 'hostile', part: 0 });
  calls.push({ do: 'close', by: 'hostile', nodes: allNodes(state) });
  return calls;
}

/** The claim is dead, its order not paid, and he has lost nothing, nor a bounty that is his. */
export const judgeWatcher: Judge = (terms, state) => {
  const by = 'watcher';
  const { reward, order, timedOut } = state;
  if (resultOf(terms, state) !== 'dead' || order.is !== 'slashed') return 'a wrong claim lives';
  const gained = state.money[by] ?? 0;
  if (gained < 0) return `the watcher has lost ${-gained}`;
  if (reward !== null && announced(state, by) < reward.killedAt && gained === 0) {
    // Who got it had announced in the same tick or before.
    if (!(announced(state, reward.to!) <= announced(state, by))) return 'his bounty went elsewhere';
  }
  return order.cause === 'clock' && timedOut === by && gained < terms.bounty ? 'a timeout did not pay him' : null;
};

/**
 * A wrong claim and one watcher: he asks for the trace, the tensor and the chunk, announces and proves.
 * @param start his first tick
 * @param chain nodes that he needs, in his order
 * @throws Violation where the claim lives, he loses money, or a bounty that is his goes elsewhere
 */
export function exploreHonestWatcher(
  calls: number,
  start: number,
  chain: readonly number[] = [0, 1, 2],
  terms: ModelTerms = SMALL,
  rules: Rules = play,
): Explored {
  const watcher: Honest = (_, state) => (clockOf(state) < start ? null : watcherCall(terms, state, chain));
  const hostile: Hostile = (state) => ({
    counted: defences(terms, state),
    uncounted: waitingOf(state).map(({ node: n }) => ({ do: 'answer', by: 'hostile', node: n })),
  });
  return exploreHonest(calls, terms, watcher, hostile, judgeWatcher, rules);
}

// --- What a call met: the same names at all times and amounts

const CLASSES: readonly (readonly [number, string])[] = [
  [-1, 'T-1'],
  [0, 'T'],
  [1, 'T+1'],
];

/** Deadlines that a call is compared with, by the clock. */
export function deadlinesOf(terms: ModelTerms, state: GameState, call: GameCall): Readonly<Record<string, number>> {
  const found: Record<string, number> = {};
  const first = waitingOf(state)[0];
  const until = untilOf(terms, state);
  const ripe = (): void => {
    if (!('fault' in call)) return;
    const made = state.precommits.find((one) => one.fault === call.fault && one.beneficiary === call.beneficiary);
    if (made !== undefined) found['delay'] = made.at + terms.precommitDelay;
  };
  if (first !== undefined && call.do !== 'answer') found['due'] = first.at + terms.answerTime;
  switch (call.do) {
    case 'demand': {
      const { level } = terms.nodes[call.node]!;
      found[`level ${level}`] = terms.window + level * slotOf(terms);
      found['window'] = terms.window;
      found['until'] = until;
      break;
    }
    case 'answer': {
      const made = state.made.find(({ node: n }) => n === call.node);
      if (made === undefined) break;
      found['answer'] = made.at + terms.answerTime;
      found['half'] = made.at + terms.answerTime / 2;
      break;
    }
    case 'prove':
      found['until'] = until;
      ripe();
      break;
    case 'claimBounty':
      if (state.reward !== null) found['bounty'] = state.reward.until;
      ripe();
      break;
    case 'settle':
    case 'close':
    case 'equivocate':
      found['until'] = until;
      break;
    case 'demandOutput':
      found['delivery'] = terms.deliveryWindow;
      break;
    case 'answerOutput': {
      const made = state.outputs.find(({ part }) => part === call.part);
      if (made !== undefined) found['output'] = made.at + terms.answerTime;
      break;
    }
    default:
  }
  return found;
}

/** Who gains by a call, by what he is to the game; and the claim's result before it. */
export function labelsOf(
  terms: ModelTerms,
  state: GameState,
  call: GameCall,
  played: ReturnType<typeof play>,
): readonly string[] {
  const clock = clockOf(state);
  const classes = Object.entries(deadlinesOf(terms, state, call)).flatMap(([name, deadline]) =>
    CLASSES.filter(([offset]) => clock === deadline + offset).map(([, at]) => `${name} ${at}`),
  );
  const outcome = played.refused === null ? gainers(state, played.state, call) : played.refused.toSorted().join('/');
  const result = resultOf(terms, state);
  return ['', ...classes].map((at) => [call.do, result, outcome, at].join(' | '));
}

const ROLES: Readonly<Record<Owner, string>> = {
  watcher: 'challenger',
  hostile: 'challenger',
  helper: 'helper',
  stranger: 'helper',
};

function gainers(before: GameState, after: GameState, call: GameCall): string {
  const gained = Object.keys(after.money).filter((owner) => (after.money[owner] ?? 0) > (before.money[owner] ?? 0));
  const roles = [...new Set(gained.map((owner) => ROLES[owner] ?? owner))].sort();
  if (call.do !== 'answer' && call.do !== 'answerOutput') return `to ${roles.join(', ')}`;
  const list = call.do === 'answer' ? after.made : after.outputs;
  const one = list.find(
    (made) => ('node' in made ? made.node : made.part) === ('node' in call ? call.node : call.part),
  );
  const payee = one!.answer!.payee;
  return `for ${ROLES[payee] ?? payee}`;
}
