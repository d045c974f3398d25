/**
 * The work that a program makes for its verifier, counted before any of it is done. Almost all of it is pushing weights
 * through views (plan/functional.ts): groups of blocks that share axes are summed entry by entry, and a program chosen
 * by an adversary could make those sums large. The count follows pushWeights and evaluateFactors step by step, one step
 * being about one multiplication in Fr (0.3 us).
 */
import { sizeOf } from '../../graph/tensor.js';
import type { Block } from '../program/blocks.js';
import { bitsOf, bitsOfAxes } from '../program/layout.js';
import type { Expression, LinearTerm, Product, Program } from '../program/types.js';

/** Steps for all groups of a proof together: some hundred times what one item of LeNet-5 takes. */
export const MAX_VERIFIER_STEPS = 2 ** 23;

interface FactorShape {
  readonly axes: readonly number[];
  readonly size: number;
}

/**
 * @param items of the batch.
 * @param n log2 of the cells of a column.
 */
export function verifierSteps(program: Program, items: number, n: number): number {
  const batchBits = bitsOf(items);
  let steps = 0;
  const spend = (count: number): void => {
    steps += count;
  };

  const term = ({ source, blocks }: LinearTerm, factors: readonly FactorShape[]): void => {
    const pushed = push(factors, blocks, spend);
    if (source.kind === 'one') return;
    const isModel = source.kind === 'model';
    const { axes } = (isModel ? program.model : program.witness)[source.slot]!;
    const evaluation = pushed.reduce((sum, { axes: own, size }) => sum + size * (1 + own.length), 1);
    const bits = bitsOfAxes(axes) - (isModel ? program.modelBits : n - batchBits);
    spend(evaluation * Math.max(1, 2 ** bits));
  };
  const product = ({ labels, p, q, blocks }: Product, factors: readonly FactorShape[]): void => {
    const pushed = push(factors, blocks, spend);
    for (const [own, other] of [
      [p, q],
      [q, p],
    ] as const) {
      const alone = pushed.filter(({ axes: [label] }) => own.labels.includes(label!) && !other.labels.includes(label!));
      const bound = own.labels.filter((label) => other.labels.includes(label));
      for (const linear of own.terms) term(linear, [...alone, ...axisFactors(labels, bound)]);
    }
    for (const { axes, size } of pushed) spend(size * axes.length);
  };
  const expression = ({ axes, linear, products }: Expression): void => {
    const factors = axisFactors(axes);
    for (const own of linear) term(own, factors);
    for (const own of products) product(own, factors);
  };

  for (const { expression: own } of program.requants) expression(own);
  for (const { slot, taps } of program.maxima)
    for (const linear of taps) expression({ axes: program.witness[slot]!.axes, linear, products: [] });
  for (const { expression: own } of program.outputs) {
    expression(own);
    spend(items * sizeOf(own.axes));
  }
  // The words of an input and their weights, padding included.
  for (const { slot } of program.inputs) spend(2 ** (batchBits + bitsOfAxes(program.witness[slot]!.axes)));
  // Masks and table formulas, bit by bit for each column.
  const cells = program.witness.reduce((sum, { axes }) => sum + 2 ** (bitsOfAxes(axes) + batchBits), 0);
  spend(program.witness.length * 32 * Math.ceil(cells / 2 ** n));
  spend(program.tables.length * 256);
  return steps;
}

const axisFactors = (sides: readonly number[], axes = sides.map((_, axis) => axis)): FactorShape[] =>
  axes.filter((axis) => sides[axis]! > 1).map((axis) => ({ axes: [axis], size: sides[axis]! }));

/** The shape of what pushWeights returns, and its steps. */
function push(
  factors: readonly FactorShape[],
  blocks: readonly Block[],
  spend: (count: number) => void,
): FactorShape[] {
  const left = new Set(blocks);
  const pushed: FactorShape[] = [];
  for (const start of blocks) {
    if (!left.delete(start)) continue;
    const group = [start];
    const own = new Set<FactorShape>();
    for (let grown = true; grown;) {
      grown = false;
      for (const factor of factors)
        if (!own.has(factor) && group.some(({ target }) => target.some((axis) => factor.axes.includes(axis)))) {
          own.add(factor);
          grown = true;
        }
      for (const block of left)
        if (block.target.some((axis) => [...own].some((factor) => factor.axes.includes(axis)))) {
          left.delete(block);
          group.push(block);
          grown = true;
        }
    }
    const size = group.reduce((product, { sourceSides }) => product * sizeOf(sourceSides), 1);
    const visits = group.reduce(
      (product, { entries, targetSides }) => product * (entries?.length ?? sizeOf(targetSides)),
      1,
    );
    const isRenaming = group.length === 1 && start.entries === null && own.size === 1;
    spend(isRenaming ? 1 : visits * (1 + own.size) + size + [...own].reduce((sum, factor) => sum + factor.size, 0));
    const axes = group.flatMap(({ source }) => source);
    if (axes.length > 0) pushed.push({ axes, size });
  }
  return pushed;
}
