/**
 * Games with the contracts' own times and amounts: by chance, and few that together meet everything that any game met.
 *
 * A call's time is the next unit, or T - 1, T or T + 1 of a deadline that lies ahead, or that of the call before it, in the
 * same block. An honest side has its turn at every time, whatever the others do; what it calls may find theirs before it in
 * its block.
 */
import { id } from 'ethers';
import type { Hex } from '../../../receipts/types.js';
import type { GameNode } from '../../dispute-types.js';
import {
  begin,
  clockOf,
  EXECUTOR,
  GUARDIAN,
  isFrozen,
  play,
  REQUESTER,
  slotOf,
  waitingOf,
  type GameCall,
  type GameState,
  type ModelTerms,
} from './game-model.js';
import { REAL, realNode, type Stage, type Timed } from './game-player.js';
import { executorCall, freeCalls, judgeExecutor, judgeWatcher, labelsOf, watcherCall } from './game-space.js';
import {
  chunksNode,
  countingTensor,
  inputsNode,
  sumsNode,
  tensorNode,
  TestTrace,
  traceRootNode,
} from './test-trace.js';

export type Dice = (sides: number) => number;

/** A linear congruential generator: the games are the same for the same seed. Seeds are spread, since neighbours roll alike. */
export function dice(seed: number): Dice {
  let state = Math.imul(seed ^ (seed >>> 16), 2654435761) >>> 0;
  state = (state ^ (state >>> 15)) >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const CHUNKS = 16;
const tensor = countingTensor(64 * CHUNKS);
const rootsOf = (slots: number): Hex[] =>
  Array.from({ length: slots }, (_, i) => (i === 1 ? tensor.root : (id(`slot ${i}`) as Hex)));
const HEADER_BYTES = 22;
const MOST_TENSOR_BYTES = 57 + 32 * 512;
const TENSOR_BYTES = HEADER_BYTES + 32 * CHUNKS;

/** Three levels, as in the small space: trace, tensor, two chunks. */
export function threeLevels(): Stage {
  const trace = new TestTrace(rootsOf(2), undefined, new Map([[1, tensor]]));
  const model = [
    realNode('trace', 0, null, 4 + 36 * 2, 4 + 32 * 2),
    realNode('tensor', 1, 0, MOST_TENSOR_BYTES, TENSOR_BYTES),
    realNode('chunk', 2, 1, 64),
    realNode('other', 2, 1, 64),
  ];
  const nodes = [traceRootNode, tensorNode(1), chunksNode(1, 0), chunksNode(1, 1)];
  return { trace, nodes, terms: { ...REAL, nodes: model } };
}

/** A trace that leaves a slot out, with its segment, all chunks of a tensor, and sums of one of its elements. */
export function fiveLevels(): Stage {
  const trace = new TestTrace(rootsOf(4), [0, 1, 3], new Map([[1, tensor]]));
  const chunks = Array.from({ length: CHUNKS }, (_, i) => i);
  const list: readonly (readonly [GameNode, ModelTerms['nodes'][number]])[] = [
    [traceRootNode, realNode('trace', 0, null, 4 + 36 * 4, 4 + 36 * 3)],
    [tensorNode(1), realNode('tensor', 2, 0, MOST_TENSOR_BYTES, TENSOR_BYTES)],
    [chunksNode(1, 0), realNode('chunk 0', 3, 1, 64)],
    [sumsNode(1, 5, 2), realNode('sums', 4, 2, 16, 16, true)],
    [trace.segment(1), realNode('segment', 1, 0, 32, 32, true)],
    [inputsNode, realNode('inputs', 0, null, 4 + 32 * 512, 4 + 32)],
    ...chunks.slice(1).map((i) => [chunksNode(1, i), realNode(`chunk ${i}`, 3, 1, 64)] as const),
  ];
  return { trace, nodes: list.map(([node]) => node), terms: { ...REAL, nodes: list.map(([, node]) => node) } };
}

/** From the root to what a watcher of `fiveLevels` needs last, the executor's own words. */
export const CHAIN = [0, 1, 2, 3];

/** Times ahead at which something begins or ends. */
function moments(terms: ModelTerms, state: GameState): number[] {
  const clock = clockOf(state);
  const deadlines = [terms.window, terms.deliveryWindow];
  for (let level = 0; level < 6; level++) deadlines.push(terms.window + level * slotOf(terms));
  for (const { at, answer } of [...state.made, ...state.outputs])
    if (answer === null) deadlines.push(at + terms.answerTime, at + terms.answerTime / 2);
  for (const { at } of state.precommits) deadlines.push(at + terms.precommitDelay);
  if (state.reward !== null) deadlines.push(state.reward.until);
  const frozen = isFrozen(state) ? [state.freeze!.end] : [];
  // In a freeze the clock stands: how far ahead something is by it is how far it is after the freeze.
  const ahead = [...deadlines.map((deadline) => state.time + deadline - clock), ...frozen];
  const times = ahead.flatMap((time) => [time - 1, time, time + 1]).filter((time) => time > state.time);
  return [...new Set(times)].sort((a, b) => a - b);
}

/** @param run so many calls follow at once, but for one, so that something happens before the first deadline */
function nextTime(terms: ModelTerms, state: GameState, roll: Dice, run: number): number {
  const ahead = moments(terms, state);
  if (ahead.length === 0 || roll(run) > 0) return state.time + 1 + roll(3);
  return ahead[Math.min(roll(ahead.length), roll(ahead.length), roll(ahead.length))]!;
}

/** Who keeps to the rules. */
export const HONEST = ['nobody', 'executor', 'watcher'] as const;
export type Honest = (typeof HONEST)[number];

/** What can be called: twenty kinds of parties and things, some of them refused. */
function anyCall(terms: ModelTerms, state: GameState, roll: Dice, honest: Honest): GameCall {
  const one = <T>(list: readonly T[]): T => list[roll(list.length)]!;
  const challenger = honest === 'watcher' ? 'hostile' : one(['watcher', 'hostile']);
  const senders =
    honest === 'executor' ? ['hostile', 'helper', 'stranger'] : [EXECUTOR, 'hostile', 'helper', 'stranger'];
  const by = one(senders);
  const some = roll(terms.nodes.length);
  const waiting = waitingOf(state);
  // Half of the calls against a watcher answer, so that games go on below the trace.
  if (honest === 'watcher' && waiting.length > 0 && roll(2) === 0) return { do: 'answer', by, node: one(waiting).node };
  const statements = terms.nodes.flatMap(({ statement }, i) => (statement ? [i] : []));
  // Nobody finds a fault in a right claim, and nobody but its executor signs for him.
  const found = honest === 'executor' ? { found: false } : roll(6) === 0 ? { found: false } : {};
  const relies = statements.length > 0 && roll(4) === 0 ? { relies: one([...statements, some]) } : {};
  const fault = roll(2);
  const accused = { by, fault, beneficiary: challenger };
  const calls: (() => GameCall)[] = [
    ...Array.from({ length: 5 }, () => (): GameCall => ({
      do: 'demand',
      by: challenger,
      node: some,
      ...(terms.nodes[some]!.statement && roll(6) === 0 ? { allowed: false } : {}),
    })),
    ...Array.from({ length: 5 }, () => (): GameCall => {
      const node = waiting.length > 0 && roll(8) > 0 ? one(waiting).node : some;
      // He has signed nothing that he has not sent himself.
      const forged = honest === 'executor' || roll(8) === 0;
      const what = terms.nodes[node]!.statement && forged ? { signed: false } : {};
      return { do: 'answer', by, node, ...what, ...(roll(8) === 0 ? { right: false } : {}) };
    }),
    () => ({ do: 'precommit', ...accused }),
    () => ({ do: 'claimBounty', ...accused, ...relies, ...found }),
    () => ({ do: 'timeout', by }),
    () => ({ do: 'settle', by }),
    () => ({ do: 'close', by, nodes: roll(4) === 0 ? [some] : state.made.map(({ node }) => node) }),
    () => ({ do: 'demandOutput', by: roll(6) === 0 ? by : REQUESTER, part: roll(4) }),
    () => ({ do: 'answerOutput', by, part: roll(4) }),
  ];
  // Rare, since most of what can happen happens before.
  if (roll(4) === 0) calls.push(() => ({ do: 'prove', ...accused, ...relies, ...found }));
  if (honest !== 'executor' && roll(6) === 0) calls.push(() => ({ do: 'equivocate', by }));
  if (roll(3) === 0)
    calls.push(() => ({ do: one(['freeze', 'unfreeze'] as const), by: roll(6) === 0 ? by : GUARDIAN }));
  return one(calls)();
}

/** Which side keeps to the rules in a game, and from when on it moves. */
interface Side {
  readonly honest: Honest;
  /** Executor: from a demand to his answer. Watcher: from the commit to his first demand. */
  readonly wait: number;
}

/** A block holds one more call of the others with one in so many. */
const CROWD = 4;

/** Times that an honest side keeps for others: one call of theirs can come before its own, and then it is asked first. */
const SLACK = 3;

function sideOf(terms: ModelTerms, roll: Dice, honest: Honest): Side {
  const most = { nobody: 0, executor: terms.answerTime / 2, watcher: terms.window }[honest];
  return { honest, wait: roll(Math.max(1, most - SLACK)) };
}

/** What the honest side calls at this time; null: nothing. */
function honestCall(terms: ModelTerms, state: GameState, { honest, wait }: Side): GameCall | null {
  if (isFrozen(state)) return null;
  const clock = clockOf(state);
  if (honest === 'executor') return executorCall(state, wait);
  return honest === 'watcher' && clock >= wait ? watcherCall(terms, state, CHAIN) : null;
}

/** Of three by chance the first that is not refused, else the last: of one alone five of six would do nothing. */
function likelyCall(terms: ModelTerms, state: GameState, roll: Dice, honest: Honest): GameCall {
  let call = anyCall(terms, state, roll, honest);
  for (let i = 0; i < 2 && play(terms, state, call).refused !== null; i++) call = anyCall(terms, state, roll, honest);
  return call;
}

export interface Game {
  readonly calls: readonly Timed[];
  readonly end: GameState;
  readonly labels: ReadonlySet<string>;
}

/**
 * The honest side is asked at every time, and the others call only after it has said all it has to.
 * @param length number of calls of the others
 */
export function randomGame(terms: ModelTerms, roll: Dice, length: number, honest: Honest): Game {
  const side = sideOf(terms, roll, honest);
  const most = 2 * length;
  const calls: Timed[] = [];
  const labels = new Set<string>();
  let state = begin(terms);
  const take = (time: number, call: GameCall): void => {
    const at = { ...state, time };
    const played = play(terms, at, call);
    for (const label of labelsOf(terms, at, call, played)) labels.add(label);
    calls.push({ time, call });
    state = played.refused === null ? played.state : at;
  };
  /** Calls of the others in one block. */
  const crowd = (time: number): void => {
    do take(time, likelyCall(terms, { ...state, time }, roll, honest));
    while (roll(CROWD) === 0);
  };
  /** Calls of the honest side, at once and then until before `time`. */
  const pass = (time: number): void => {
    for (let next = state.time + 1, last: GameCall | null = null; last !== null || next < time; next++) {
      last = honestCall(terms, { ...state, time: next }, side);
      if (last === null) continue;
      // It was sent before it could know.
      if (calls.length < most && roll(CROWD) === 0) crowd(next);
      take(next, last);
      if (calls.length < most && roll(CROWD) === 0) crowd(next);
    }
  };
  for (let i = 0; i < length; i++) {
    pass(state.time + 2);
    const time = nextTime(terms, state, roll, 5);
    pass(time);
    crowd(Math.max(time, state.time + 1));
  }
  // Then nobody is hostile any more. All that is open comes to its end by what anybody may call.
  for (let [ahead] = moments(terms, state); ahead !== undefined; [ahead] = moments(terms, state)) {
    pass(ahead);
    state = { ...state, time: Math.max(ahead, state.time) };
  }
  const by = 'stranger';
  for (const call of [
    { do: 'timeout', by },
    { do: 'settle', by },
    { do: 'claimBounty', by, fault: 0, beneficiary: by },
    { do: 'close', by, nodes: state.made.map(({ node }) => node) },
  ] as const)
    take(state.time + 1, call);
  return { calls, end: state, labels };
}

/** What an honest side was promised and does not have at the end of a game; null: nothing. */
export function brokenPromise(terms: ModelTerms, end: GameState, honest: Honest): string | null {
  if (honest === 'executor') return judgeExecutor(terms, end);
  return honest === 'watcher' ? judgeWatcher(terms, end) : null;
}

/** A game of calls as in the free space. */
function freeGame(terms: ModelTerms, roll: Dice, length: number): Game {
  const calls: Timed[] = [];
  const labels = new Set<string>();
  let state = begin(terms);
  for (let i = 0; i < length; i++) {
    const time = nextTime(terms, state, roll, 2);
    const at = { ...state, time };
    const list = freeCalls(terms, at);
    // First the kind, since there are more of some kinds than of others.
    const kinds = [...new Set(list.map((call) => call.do))];
    const kind = kinds[roll(kinds.length)]!;
    const ofKind = list.filter((call) => call.do === kind);
    const call = ofKind[roll(ofKind.length)]!;
    const played = play(terms, at, call);
    for (const label of labelsOf(terms, at, call, played)) labels.add(label);
    calls.push({ time, call });
    state = played.refused === null ? played.state : at;
  }
  return { calls, end: state, labels };
}

/**
 * Games that together meet each of `wanted`, cut behind the last call that brings something new.
 * @param tries games to choose from
 * @return missing what none of them met
 */
export function covering(
  terms: ModelTerms,
  wanted: ReadonlySet<string>,
  roll: Dice,
  tries: number,
): { readonly games: readonly (readonly Timed[])[]; readonly missing: readonly string[] } {
  const left = new Set(wanted);
  const games: Timed[][] = [];
  for (let i = 0; i < tries && left.size > 0; i++) {
    const game = freeGame(terms, roll, 4 + roll(9));
    if (![...game.labels].some((label) => left.has(label))) continue;
    let state = begin(terms);
    let useful = 0;
    for (const [step, { time, call }] of game.calls.entries()) {
      const at = { ...state, time };
      const played = play(terms, at, call);
      for (const label of labelsOf(terms, at, call, played)) if (left.delete(label)) useful = step + 1;
      state = played.refused === null ? played.state : at;
    }
    games.push(game.calls.slice(0, useful));
  }
  return { games, missing: [...left].sort() };
}
