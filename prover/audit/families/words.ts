/** Every word of a proof changed after the fact: scalars, commitments, opening, header, lengths, order. */
import { FR_MODULUS } from '../../field/bn254.params.js';
import { add, fromBytes, inverse, mul, neg, toBytes } from '../../field/fr.js';
import { productShape } from '../../verifier/product-shape.js';
import {
  decodeProof,
  encodeProof,
  HEADER_BYTES,
  POINT_BYTES,
  proofBytes,
  proofShape,
  SCALAR_BYTES,
  type Proof,
} from '../../verifier/proof.js';
import type { Attempt, TamperFamily } from '../attack.js';
import { proveJob, type AuditJob } from '../audited-prover.js';
import { CASE_KINDS } from '../cases.js';
import type { Draw } from '../draw.js';
import { planOf } from '../lies.js';

interface Layout {
  /** First byte of the scalars, and how many there are. */
  readonly scalars: number;
  readonly scalarCount: number;
  readonly commitmentCount: number;
  readonly opening: number;
  readonly decoded: Proof;
}

function layoutOf(job: AuditJob, bytes: Uint8Array): Layout {
  const plan = planOf(job);
  const fixed = proofBytes(proofShape(plan, productShape(plan), 0));
  const shape = proofShape(plan, productShape(plan), bytes.length - fixed);
  const commitmentCount = shape.witness + shape.helpers;
  const scalars = HEADER_BYTES + POINT_BYTES * commitmentCount;
  return {
    scalars,
    scalarCount: (fixed - scalars) / SCALAR_BYTES,
    commitmentCount,
    opening: fixed,
    decoded: decodeProof(bytes, shape),
  };
}

const put = (bytes: Uint8Array, at: number, part: Uint8Array): Uint8Array => {
  const copy = bytes.slice();
  copy.set(part, at);
  return copy;
};

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** How many places of a kind one seed tries. */
const PLACES = 12;

const places = (draw: Draw, count: number): number[] =>
  draw.shuffled(Array.from({ length: count }, (_, i) => i)).slice(0, PLACES);

type Change = (bytes: Uint8Array, layout: Layout, draw: Draw) => { what: string; proof: Uint8Array }[];

const family = (name: string, change: Change): TamperFamily => ({
  name,
  kinds: CASE_KINDS,
  async attack(job, draw): Promise<Attempt[]> {
    const honest = await proveJob(job);
    return change(honest, layoutOf(job, honest), draw).filter(({ proof }) => !sameBytes(proof, honest));
  },
});

const scalarFamily = (name: string, change: (value: bigint, draw: Draw) => bigint): TamperFamily =>
  family(name, (bytes, { scalars, scalarCount }, draw) =>
    places(draw, scalarCount).map((i) => {
      const at = scalars + SCALAR_BYTES * i;
      const value = change(fromBytes(bytes.subarray(at, at + SCALAR_BYTES)), draw);
      return { what: `scalar ${i}`, proof: put(bytes, at, toBytes(value)) };
    }),
  );

/** The proof taken apart, changed and put together again. */
const decodedFamily = (name: string, change: (proof: Proof, draw: Draw) => Proof): TamperFamily =>
  family(name, (bytes, { decoded }, draw) => [{ what: 'once', proof: encodeProof(change(decoded, draw), bytes[9]!) }]);

/** Two neighbours that differ, exchanged. */
function swap<T>(list: readonly T[], draw: Draw): T[] {
  const differ = list.flatMap((v, i) => (i + 1 < list.length && String(v) !== String(list[i + 1]) ? [i] : []));
  if (differ.length === 0) return [...list];
  const a = draw.pick(differ);
  return list.map((v, i) => (i === a ? list[a + 1]! : i === a + 1 ? list[a]! : v));
}

export const wordFamilies: readonly TamperFamily[] = [
  scalarFamily('a scalar of the proof + 1', (v) => add(v, 1n)),
  scalarFamily('a scalar of the proof replaced', (_, draw) => draw.field()),
  scalarFamily('a scalar of the proof negated', neg),
  scalarFamily('a scalar of the proof set to 0', () => 0n),
  scalarFamily('a scalar of the proof + r, not canonical', (v) => v + FR_MODULUS),
  scalarFamily('a scalar of the proof 2^256 - 1', () => 2n ** 256n - 1n),
  family('a bit of a commitment', (bytes, { commitmentCount }, draw) =>
    places(draw, commitmentCount).map((c) => {
      const at = HEADER_BYTES + POINT_BYTES * c + draw.int(0, POINT_BYTES - 1);
      return { what: `commitment ${c}`, proof: put(bytes, at, Uint8Array.of(bytes[at]! ^ (1 << draw.int(0, 7)))) };
    }),
  ),
  family('a commitment replaced by another, or by 0', (bytes, { commitmentCount }, draw) =>
    places(draw, commitmentCount).flatMap((c) => {
      const at = HEADER_BYTES + POINT_BYTES * c;
      const other = HEADER_BYTES + POINT_BYTES * draw.int(0, commitmentCount - 1);
      return [bytes.slice(other, other + POINT_BYTES), new Uint8Array(POINT_BYTES)].map((point) => ({
        what: `commitment ${c}`,
        proof: put(bytes, at, point),
      }));
    }),
  ),
  family('a bit of the opening', (bytes, { opening }, draw) =>
    Array.from({ length: PLACES }, () => {
      const at = draw.int(opening, bytes.length - 1);
      return { what: `byte ${at}`, proof: put(bytes, at, Uint8Array.of(bytes[at]! ^ (1 << draw.int(0, 7)))) };
    }),
  ),
  family('a byte of the header', (bytes, _, draw) =>
    Array.from({ length: HEADER_BYTES }, (_unused, at) => ({
      what: `byte ${at}`,
      proof: put(bytes, at, Uint8Array.of((bytes[at]! + draw.int(1, 255)) % 256)),
    })),
  ),
  family('one n more or less', (bytes, { decoded }) =>
    [-1, 1].map((step) => ({ what: `${step}`, proof: put(bytes, HEADER_BYTES - 1, Uint8Array.of(decoded.n + step)) })),
  ),
  family('bytes more or fewer', (bytes, _, draw) => [
    ...[1, 31, 32, 64, bytes.length - HEADER_BYTES, bytes.length].map((cut) => ({
      what: `${cut} fewer`,
      proof: bytes.slice(0, bytes.length - cut),
    })),
    ...[1, 32, 64].map((more) => ({ what: `${more} more`, proof: put(new Uint8Array(bytes.length + more), 0, bytes) })),
    { what: 'one cut out', proof: Uint8Array.from([...bytes].toSpliced(draw.int(0, bytes.length - 1), 1)) },
  ]),
  family('random bytes in the form of a proof', (bytes, _, draw) =>
    [0, 1, 2].map((what) => ({
      what: `fill ${what}`,
      proof: bytes.map((byte, i) =>
        i < HEADER_BYTES ? byte : what === 0 ? 0 : what === 1 ? (i % 32 === 11 ? 0 : 1) : draw.int(0, 1),
      ),
    })),
  ),
  decodedFamily('rounds of phase L swapped', (proof, draw) => ({
    ...proof,
    lookupRounds: swap(proof.lookupRounds, draw),
  })),
  decodedFamily('rounds of phase A swapped', (proof, draw) => ({
    ...proof,
    arithmeticRounds: swap(proof.arithmeticRounds, draw),
  })),
  decodedFamily('rounds of phase O swapped', (proof, draw) => ({
    ...proof,
    openingRounds: swap(proof.openingRounds, draw),
  })),
  decodedFamily('values at the end of phase L swapped', (proof, draw) => ({
    ...proof,
    values: swap(proof.values, draw),
  })),
  decodedFamily('operands swapped', (proof, draw) => ({ ...proof, operands: swap(proof.operands, draw) })),
  decodedFamily('operands (2P, Q/2)', (proof) => ({
    ...proof,
    operands: proof.operands.map((v, i) => (i === 0 ? mul(v, 2n) : i === 1 ? mul(v, inverse(2n)) : v)),
  })),
  decodedFamily('commitments swapped', (proof, draw) => ({ ...proof, witness: swap(proof.witness, draw) })),
  decodedFamily('helper commitments swapped', (proof, draw) => ({ ...proof, helpers: swap(proof.helpers, draw) })),
  decodedFamily('two false values that cancel: D + 1 and a round - 1', (proof) => ({
    ...proof,
    direct: add(proof.direct, 1n),
    openingRounds: proof.openingRounds.map((round, i) =>
      i === 0 ? round.map((v, j) => (j === 0 ? add(v, inverse(2n)) : v)) : round,
    ),
  })),
  {
    name: 'parts of two proofs of one statement kind joined',
    kinds: CASE_KINDS,
    async attack(job) {
      const a = await proveJob(job);
      // Another true proof of the same statement: other values in unallocated rows of m.
      const b = await proveJob(job, {
        columns: (columns, plan) => {
          const last = [...columns.keys()].findLast((name) => name.startsWith('m '))!;
          if (plan.tables.cells < plan.tableChunks * 2 ** plan.lookupBits)
            columns.get(last)![2 ** plan.lookupBits - 1] = 5n;
        },
      });
      if (sameBytes(a, b)) return [];
      const { scalars, opening } = layoutOf(job, a);
      return [scalars, opening].map((at) => ({
        what: `cut at byte ${at}`,
        proof: put(b, 0, a.subarray(0, at)),
      }));
    },
  },
];
