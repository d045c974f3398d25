/**
 * Many independent affine additions with one inversion (Montgomery's trick): about 210 ns each, two thirds of an addition
 * in extended form.
 *
 * A batch is a list of operations (target, left, right): target = left + right. A call looks at all operands first,
 * multiplies the denominators together, inverts the product, and then carries out the operations in order. So a target
 * may be an operand of the same or of an earlier operation, not of a later one.
 *
 *   ordinary   left != +-right: denominator x2 - x1, slope (y2 - y1) / (x2 - x1)
 *   doubling   left = right:    denominator 2y,      slope 3 x^2 / 2y
 *   no inverse needed: right or left is infinity (a copy of the other), left = -right (infinity)
 *   x3 = slope^2 - x1 - x2, y3 = slope (x1 - x3) - y1
 */
import * as fq from './generated/fq/arithmetic';
import * as field from './generated/fq/field';
import { AFFINE, copyAffine, isAffineInfinity } from './curve';
import { ELEMENT } from './generated/fq/field';
import { pop, push } from './scratch';

/** Operations of a batch: the inversion (8 us) then costs 4 ns each, and the lists stay in the second-level cache. */
export const BATCH: u32 = 2048;

const KINDS: usize = 12 * BATCH;
const DENOMINATORS: usize = KINDS + BATCH;
const PREFIXES: usize = DENOMINATORS + ELEMENT * BATCH;
/** Bytes of a batch: targets and operands, kinds, denominators, products of those before. */
export const BATCH_BYTES: usize = PREFIXES + ELEMENT * BATCH;

const ORDINARY: u8 = 0;
const DOUBLING: u8 = 1;
const COPY_LEFT: u8 = 2;
const COPY_RIGHT: u8 = 3;
const INFINITY: u8 = 4;

export function setOperation(batch: usize, i: u32, target: usize, left: usize, right: usize): void {
  const at = batch + 12 * i;
  store<u32>(at, <u32>target);
  store<u32>(at, <u32>left, 4);
  store<u32>(at, <u32>right, 8);
}

/** A right operand for "target = left". */
export const NOTHING: usize = 0;

/** The kind of an operation; writes its denominator where it has one. */
function classify(left: usize, right: usize, denominator: usize): u8 {
  if (right === NOTHING || isAffineInfinity(right)) return COPY_LEFT;
  if (isAffineInfinity(left)) return COPY_RIGHT;
  fq.subCarried(denominator, right, left);
  if (!field.isZero(denominator)) return ORDINARY;
  fq.subCarried(denominator, right + ELEMENT, left + ELEMENT);
  if (!field.isZero(denominator)) return INFINITY;
  fq.addCarried(denominator, left + ELEMENT, left + ELEMENT);
  return DOUBLING;
}

/** Carries out the first n operations of the batch. */
export function runBatch(batch: usize, n: u32): void {
  const running = push(4 * ELEMENT);
  const slope = running + ELEMENT;
  const x = slope + ELEMENT;
  const t = x + ELEMENT;
  const kinds = batch + KINDS;
  const denominators = batch + DENOMINATORS;
  const prefixes = batch + PREFIXES;

  field.copy(running, fq.ONE);
  for (let i: u32 = 0; i < n; i++) {
    const operation = batch + 12 * i;
    const denominator = denominators + ELEMENT * i;
    const kind = classify(load<u32>(operation, 4), load<u32>(operation, 8), denominator);
    store<u8>(kinds + i, kind);
    if (kind > DOUBLING) continue;
    field.copy(prefixes + ELEMENT * i, running);
    fq.mul(running, running, denominator);
  }
  field.invert(running, running);
  for (let i = n; i > 0;) {
    i--;
    if (load<u8>(kinds + i) > DOUBLING) continue;
    const prefix = prefixes + ELEMENT * i;
    fq.mul(prefix, prefix, running);
    fq.mul(running, running, denominators + ELEMENT * i);
  }

  for (let i: u32 = 0; i < n; i++) {
    const operation = batch + 12 * i;
    const target: usize = load<u32>(operation);
    const left: usize = load<u32>(operation, 4);
    let right: usize = load<u32>(operation, 8);
    const inverse = prefixes + ELEMENT * i;
    const kind = load<u8>(kinds + i);
    if (kind === ORDINARY) {
      fq.differenceMul(slope, right + ELEMENT, left + ELEMENT, inverse);
    } else if (kind === DOUBLING) {
      fq.sqr(t, left);
      fq.add(slope, t, t);
      fq.add(slope, slope, t);
      fq.mul(slope, slope, inverse);
      right = left;
    } else {
      if (kind === INFINITY) memory.fill(target, 0, AFFINE);
      else copyAffine(target, kind === COPY_LEFT ? left : right);
      continue;
    }
    fq.sqr(t, slope);
    fq.subTwo(x, t, left, right);
    fq.differenceMulSub(target + ELEMENT, left, x, slope, left + ELEMENT);
    field.copy(target, x);
  }
  pop(running);
}
