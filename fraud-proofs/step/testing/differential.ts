/**
 * IntegerStep.sol against what is known of steps without it: the evaluator's truth (graph/integer/evaluate.ts), and the
 * verdict of its mirror in TypeScript (fraud-proofs/step/check-step.ts) on the same evidence.
 *
 * Random graphs around each operator in turn, and networks. A kind is drawn until it has its share of the cases. Three sorts:
 *   Whole     evidence that opens all of what the slot's elements read, once for all of them; many calls in one.
 *   Narrow    evidence of one element, as a watcher builds it, and changes of it by one field, most of which must be refused.
 *   Sums      contractions beyond the limit of a step, by what the executor states: their elements, and their parts.
 */
import { buildEvidence, type FaultTarget } from '../build-evidence.js';
import { checkElements, checkStep, type StepVerdict } from '../check-step.js';
import { encodeEvidence } from '../encode-evidence.js';
import { longContractions } from '../evaluate-element.js';
import { ClaimReader, ownSums } from '../sums.js';
import { committedPosition } from '../../nodes/known-tensor.js';
import { mutatedEvidence } from './mutate-evidence.js';
import { groupsOf, type Question, type StepGroup } from './step-groups.js';
import { NODE_KINDS, randomGraph, randomNodeCase, type Random } from '../../../graph/integer/testing/random-graph.js';
import type { Hex } from '../../../receipts/types.js';
import type { Fault, StepEvidence } from '../../../verifier-contracts/dispute-types.js';
import type { ShortAnswer, StepAnswer, StepChain } from '../../../verifier-contracts/harness/step/step-fixture.js';

/** Characters of evidence in one call: the chain takes requests of up to 2 MB. */
const CALL_CHARACTERS = 1_000_000;
/** Of one group, so that large tensors take no other's share. */
const GROUP_QUESTIONS = 64;
/** Claims with elements out of their range. */
const WILD_SHARE = 0.25;

export interface Tally {
  /** By the operator whose element is disputed. */
  readonly kinds: Record<string, number>;
  readonly verdicts: Record<string, number>;
  /** Those that the evaluator knows too. */
  known: number;
  cases: number;
}

const newTally = (): Tally => ({ kinds: {}, verdicts: {}, known: 0, cases: 0 });

const countIn = (counts: Record<string, number>, key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);

/** Contract and TypeScript differ. */
class Difference extends Error {}

/** Groups of claims over random graphs, kind after kind while it is short of its share. */
function* endlessGroups(random: Random, tally: Tally, cases: number): Generator<StepGroup> {
  const share = cases / NODE_KINDS.length;
  const isShort = (kind: string): boolean => (tally.kinds[kind] ?? 0) < share;
  for (let round = 0; ; round++) {
    const kind = NODE_KINDS[round % (NODE_KINDS.length + 1)];
    if (kind !== undefined && !isShort(kind)) continue;
    const test = kind === undefined ? randomGraph(random) : randomNodeCase(kind, random);
    // Networks have boundaries, too.
    const every = kind === undefined ? 1 + Math.floor(random() * 5) : 1;
    for (const group of groupsOf(test, random, { every, wild: random() < WILD_SHARE }))
      if (isShort(group.kinds[0]!)) yield group;
  }
}

function someOf<T>(list: readonly T[], count: number, random: Random): T[] {
  if (list.length <= count) return [...list];
  const from = Math.floor(random() * (list.length - count + 1));
  return list.slice(from, from + count);
}

function requireTruth({ what }: StepGroup, { element, wrong }: Question, verdict: string): void {
  if (wrong !== null && verdict !== (wrong ? 'fault' : 'right'))
    throw new Difference(
      `${what}, element ${element}: the evaluator says ${wrong ? 'wrong' : 'right'}, found ${verdict}`,
    );
}

/** @throws Difference */
export async function compareWhole(chain: StepChain, random: Random, cases: number, limit: number): Promise<Tally> {
  const tally = newTally();
  const groups = endlessGroups(random, tally, cases);
  type Asked = StepGroup & { readonly encoded: Hex };
  const compare = (batch: readonly Asked[], answers: readonly ShortAnswer[]): void => {
    let next = 0;
    for (const group of batch) {
      const verdicts = checkElements(group.receipt, group.evidence, group.questions, limit);
      for (const [i, question] of group.questions.entries()) {
        const answer = answers[next++]!;
        const own = verdicts[i]!;
        const { element } = question;
        const isSame = own.verdict === answer.verdict && (answer.verdict !== 'fault' || isName(own, answer.faultId));
        // The mirror gives up first where an element lies out of its range, and nowhere else (evaluate-element.ts step 4).
        const givesUp = group.wild && own.verdict === 'undetermined' && answer.verdict !== 'invalid';
        if (!isSame && !givesUp)
          throw new Difference(
            `${group.what}, element ${element}: ${JSON.stringify(answer)} for ${JSON.stringify(own)}`,
          );
        requireTruth(group, question, answer.verdict);
        countIn(tally.verdicts, isSame ? answer.verdict : `${answer.verdict} where the mirror gives up`);
        if (question.wrong !== null) tally.known++;
      }
    }
  };
  // The chain works on one call while the answers of the one before are compared.
  let before: { batch: Asked[]; answers: Promise<ShortAnswer[]> } | null = null;
  const finish = async (): Promise<void> => {
    if (before !== null) compare(before.batch, await before.answers);
  };
  while (tally.cases < cases) {
    const batch: Asked[] = [];
    for (let size = 0; size < CALL_CHARACTERS && tally.cases < cases;) {
      const group = groups.next().value as StepGroup;
      const questions = someOf(group.questions, Math.min(GROUP_QUESTIONS, cases - tally.cases), random);
      const encoded = encodeEvidence(group.evidence);
      batch.push({ ...group, questions, encoded });
      size += encoded.length + 32 * questions.length;
      tally.cases += questions.length;
      tally.kinds[group.kinds[0]!] = (tally.kinds[group.kinds[0]!] ?? 0) + questions.length;
    }
    const asked = batch.map(({ receipt, encoded, questions }) => ({ receipt, evidence: encoded, questions }));
    const answers = chain.judgeGroups(asked);
    await finish();
    before = { batch, answers };
  }
  await finish();
  return tally;
}

const isName = (own: StepVerdict, short: string): boolean =>
  own.verdict === 'fault' && own.faultId.slice(2, 2 + short.length) === short;

interface NarrowCase {
  readonly group: StepGroup;
  readonly fault: Fault;
  readonly evidence: StepEvidence;
  readonly encoded: Hex;
  /** Null where nothing but the mirror knows it. */
  readonly question: Question | null;
}

/** Null where a field does not hold a number. */
function encodedOrNull(evidence: StepEvidence): Hex | null {
  try {
    return encodeEvidence(evidence);
  } catch {
    return null;
  }
}

/** Evidence of a target, and some changes of it. */
function narrowCases(
  group: StepGroup,
  target: FaultTarget,
  question: Question,
  random: Random,
  limit: number,
  changes: number,
): NarrowCase[] {
  const { model, claim } = group;
  const { fault } = target;
  let evidence: StepEvidence | null;
  try {
    evidence = buildEvidence(model, claim, target, limit);
  } catch {
    // An operand is none that a right claim has: no watcher builds it. Whole evidence shows what the contract says.
    return [];
  }
  if (evidence === null) return [];
  const all: NarrowCase[] = [{ group, fault, evidence, encoded: encodeEvidence(evidence), question }];
  const mutants = changes === 0 ? [] : [...mutatedEvidence(evidence)];
  for (let i = 0; i < changes; i++) {
    const mutant = mutants[Math.floor(random() * mutants.length)]!;
    const encoded = encodedOrNull(mutant);
    if (encoded !== null) all.push({ group, fault, evidence: mutant, encoded, question: null });
  }
  return all;
}

async function compareNarrowCases(
  chain: StepChain,
  batch: readonly NarrowCase[],
  limit: number,
  tally: Tally,
): Promise<void> {
  const answers = await chain.judge(
    batch.map(({ group, fault, encoded }) => ({ receipt: group.receipt, fault, evidence: encoded })),
  );
  batch.forEach(({ group, fault, evidence, question }, i) => {
    const answer = answers[i]!;
    const own = checkStep(group.receipt, fault, evidence, limit);
    if (!isSameAnswer(own, answer))
      throw new Difference(
        `${group.what}: ${JSON.stringify(answer)} for ${JSON.stringify(own)}: ${JSON.stringify(evidence)}`,
      );
    if (question !== null) requireTruth(group, question, answer.verdict);
    if (question !== null && question.wrong !== null) tally.known++;
    countIn(tally.kinds, group.kinds[0]!);
    countIn(tally.verdicts, answer.verdict);
    tally.cases++;
  });
}

/** Of a refusal only that it is one: which of several reasons is met first is not fixed. */
const isSameAnswer = (own: StepVerdict, answer: StepAnswer): boolean =>
  own.verdict === 'fault' || answer.verdict === 'fault'
    ? JSON.stringify(own) === JSON.stringify(answer)
    : (own.verdict === 'right') === (answer.verdict === 'right');

/** @throws Difference */
export async function compareNarrow(chain: StepChain, random: Random, cases: number, limit: number): Promise<Tally> {
  const tally = newTally();
  const groups = endlessGroups(random, tally, cases);
  while (tally.cases < cases) {
    const batch: NarrowCase[] = [];
    while (batch.length < 128) {
      const group = groups.next().value as StepGroup;
      const { slot } = group;
      for (const question of someOf(group.questions, 4, random)) {
        const { element, witness } = question;
        batch.push(...narrowCases(group, { fault: 'step', slot, element, witness }, question, random, limit, 2));
      }
    }
    await compareNarrowCases(chain, batch.slice(0, cases - tally.cases), limit, tally);
  }
  return tally;
}

/**
 * @param limit of the step contract: short, so that small contractions need sums.
 * @throws Difference
 */
export async function compareSums(chain: StepChain, random: Random, cases: number, limit: number): Promise<Tally> {
  const tally = newTally();
  const kinds = ['matmul', 'matmulActivations', 'conv', 'requant', 'combine'] as const;
  for (let round = 0; tally.cases < cases; round++) {
    const kind = kinds[round % (kinds.length + 1)];
    const test = kind === undefined ? randomGraph(random) : randomNodeCase(kind, random);
    const batch: NarrowCase[] = [];
    for (const group of groupsOf(test, random, { every: 1 + Math.floor(random() * 3), wild: false })) {
      const { model, claim, slot } = group;
      for (const question of someOf(group.questions, 4, random)) {
        const { element } = question;
        const value = model.valueOfSlot[slot]!;
        const long = longContractions(new ClaimReader(model, claim, limit), value, element);
        if (long.length !== 1) continue;
        const first = committedPosition(model.infoOfSlot(slot), element);
        const right = ownSums(model, claim, slot, first, limit)!;
        const parts = [...right];
        const changed = random() < 0.5 ? null : Math.floor(random() * parts.length);
        if (changed !== null) parts[changed]! += random() < 0.5 ? 1n : -1n;
        claim.learnSums({ node: { kind: 'sums', slot, height: 0, first, count: parts.length }, parts });
        const step = changed === null ? question : { ...question, wrong: null };
        batch.push(...narrowCases(group, { fault: 'step', slot, element }, step, random, limit, 1));
        const part = random() < 0.5 ? (changed ?? 0) : Math.floor(random() * parts.length);
        const of = { ...question, wrong: part === changed };
        batch.push(...narrowCases(group, { fault: 'part', slot, element, part }, of, random, limit, 1));
      }
    }
    for (let i = 0; i < batch.length && tally.cases < cases; i += 128)
      await compareNarrowCases(chain, batch.slice(i, Math.min(i + 128, i + cases - tally.cases)), limit, tally);
  }
  return tally;
}

/** As lines of a report. */
export function writeTally(name: string, { cases, known, kinds, verdicts }: Tally): string {
  const list = (counts: Record<string, number>): string =>
    Object.entries(counts)
      .map(([key, count]) => `${key} ${count}`)
      .join(', ');
  return `${name}: ${cases} cases, ${known} known to the evaluator; ${list(kinds)}; ${list(verdicts)}`;
}
