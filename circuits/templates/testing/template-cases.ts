/** Every template with random inputs and the outputs that TypeScript computes for them. */
import { add, mul, sub } from '../../../prover/field/fr.js';
import { evaluateWeight } from '../../../prover/plan/functional.js';
import { evaluateRound, verifySumcheck } from '../../../prover/verifier/sumcheck.js';
import { joiningDigest, joiningValue, JOINING_START } from '../../poseidon/joining.js';
import { permutation } from '../../poseidon/poseidon.js';
import { PoseidonHash } from '../../poseidon/transcript.js';
import type { Argument } from '../../r1cs/undetermined-wires.js';
import type { Signal } from '../../snarkjs/types.js';

/** A reproducible stream of field elements. */
export function elements(seed: string): (count: number) => bigint[] {
  const hash = new PoseidonHash(BigInt(seed.length));
  hash.absorb(
    'bytes',
    [...seed].map((c) => BigInt(c.charCodeAt(0))),
    seed.length,
  );
  return (count) => Array.from({ length: count }, () => hash.draw());
}

export interface TemplateCase {
  readonly file: string;
  readonly component: string;
  /** Widths of its Poseidon permutations; none take the smallest, so that the constants' file is not empty. */
  readonly widths?: readonly number[];
  readonly make: (draw: (count: number) => bigint[]) => { inputs: Record<string, Signal>; outputs: bigint[] };
  readonly argued?: readonly Argument[];
  /** Inputs that do not matter. */
  readonly unused?: readonly string[];
}

const eqWeight = (point: readonly bigint[]) =>
  ({ kind: 'bits', zero: point.map((x) => sub(1n, x)), one: point }) as const;

const masked = (n: number, d: number): TemplateCase => ({
  file: 'weights',
  component: `MaskedWeight(${n}, ${d})`,
  make(draw) {
    const [zero, one, u] = [draw(n), draw(n), draw(n)];
    return { inputs: { zero, one, u }, outputs: [evaluateWeight({ kind: 'bits', zero, one }, d, u)] };
  },
});

const lessThan = (n: number, d: number): TemplateCase => ({
  file: 'weights',
  component: `LessThan(${n}, ${d})`,
  // Below the lowest 1 of d.
  unused: Array.from({ length: n }, (_, i) => `main.u[${i}]`).filter((_, i) => d % 2 ** (n - i) === 0),
  make(draw) {
    const u = draw(n);
    const all = { kind: 'bits', zero: u.map(() => 1n), one: u.map(() => 1n) } as const;
    return { inputs: { u }, outputs: [evaluateWeight(all, d, u)] };
  },
});

const block = (k: number, draws: number): TemplateCase => ({
  file: 'poseidon',
  component: `PoseidonBlock(${k}, ${draws})`,
  widths: [k + 1],
  make(draw) {
    const [state, tag, ...values] = draw(k + 2);
    return {
      inputs: { state: state!, tag: tag!, in: values },
      outputs: permutation([add(state!, tag!), ...values]).slice(0, draws + 1),
    };
  },
});

const absorb = (count: number, draws: number, widths: readonly number[]): TemplateCase => ({
  file: 'transcript',
  component: `Absorb(1, ${count}, ${count}, ${draws})`,
  widths,
  make(draw) {
    const [state, ...values] = draw(count + 1);
    const hash = new PoseidonHash(state!);
    hash.absorb('scalars', values, count);
    const drawn = Array.from({ length: draws }, () => hash.draw());
    return { inputs: { state: state!, in: values }, outputs: [hash.state, ...drawn] };
  },
});

const round = (d: number): TemplateCase => ({
  file: 'sumcheck',
  component: `RoundValue(${d})`,
  make(draw) {
    const [claim, r, ...coefficients] = draw(d + 2);
    return {
      inputs: { claim: claim!, r: r!, coefficients },
      outputs: [evaluateRound(coefficients, claim!, r!)],
    };
  },
});

export const TEMPLATE_CASES: readonly TemplateCase[] = [
  {
    file: 'bits',
    component: 'Bits(12)',
    make: () => ({
      inputs: { in: 0xa5cn },
      outputs: Array.from({ length: 12 }, (_, i) => BigInt((0xa5c >> i) & 1)),
    }),
  },
  {
    file: 'bits',
    component: 'Limbs()',
    argued: [
      {
        names: /^main\.(bit|same)\[/,
        reason:
          'the bits are those of the one integer in [0, r) that is congruent to in: see the template, and the test below',
      },
    ],
    make(draw) {
      const [value] = draw(1);
      return { inputs: { in: value! }, outputs: [value! & (2n ** 128n - 1n), value! >> 128n] };
    },
  },
  {
    file: 'weights',
    component: 'Equality(6)',
    make(draw) {
      const [a, b] = [draw(6), draw(6)];
      return { inputs: { a, b }, outputs: [evaluateWeight(eqWeight(a), 64, b)] };
    },
  },
  {
    file: 'weights',
    component: 'EqualityTable(4)',
    make(draw) {
      const point = draw(4);
      const at = (x: number) => point.reduce((product, p, i) => mul(product, (x >> (3 - i)) & 1 ? p : sub(1n, p)), 1n);
      return { inputs: { point }, outputs: Array.from({ length: 16 }, (_, x) => at(x)) };
    },
  },
  ...[1, 12, 31].map((d) => lessThan(5, d)),
  ...[1, 12, 31, 32].map((d) => masked(5, d)),
  {
    file: 'weights',
    component: 'MaskedEquality(5, 28)',
    make(draw) {
      const [point, u] = [draw(5), draw(5)];
      return { inputs: { point, u }, outputs: [evaluateWeight(eqWeight(point), 28, u)] };
    },
  },
  {
    file: 'weights',
    component: 'Powers(9)',
    make(draw) {
      const [r, ...values] = draw(10);
      return { inputs: { r: r!, values }, outputs: [values.reduceRight((sum, v) => add(mul(sum, r!), v), 0n)] };
    },
  },
  ...[2, 3, 4, 5, 6, 7].map(round),
  block(2, 0),
  block(4, 1),
  block(8, 8),
  block(16, 16),
  absorb(1, 1, [3]),
  absorb(7, 9, [8, 9]),
  absorb(20, 5, [5, 9, 17]),
  {
    file: 'transcript',
    component: 'Absorb(2, 40, 3, 1)',
    widths: [4],
    make(draw) {
      const [state, ...values] = draw(4);
      const hash = new PoseidonHash(state!);
      hash.absorb('bytes', values, 40);
      const challenge = hash.draw();
      return { inputs: { state: state!, in: values }, outputs: [hash.state, challenge] };
    },
  },
  {
    file: 'sumcheck',
    component: 'Sumcheck(2, 3)',
    widths: [4],
    make(draw) {
      const [state, claim] = draw(2);
      const coefficients = [draw(3), draw(3)];
      const hash = new PoseidonHash(state!);
      const transcript = {
        absorbBytes: () => undefined,
        absorbPoints: () => undefined,
        absorbScalars: (_: string, scalars: readonly bigint[]) => hash.absorb('scalars', scalars, scalars.length),
        challenge: () => hash.draw(),
        challenges: (_: string, count: number) => Array.from({ length: count }, () => hash.draw()),
      };
      const result = verifySumcheck(transcript, '', claim!, coefficients);
      return {
        inputs: { state: state!, claim: claim!, coefficients },
        outputs: [hash.state, ...result.point, result.claim],
      };
    },
  },
  {
    file: 'joining',
    component: `Joining(${JOINING_START}, 18)`,
    widths: [3, 17],
    make(draw) {
      const [rho, ...x] = draw(19);
      return { inputs: { rho: rho!, x }, outputs: [joiningDigest(x), joiningValue(x, rho!)] };
    },
  },
];
