import { bitsOf } from '../program/layout.js';
import type { Product } from '../program/types.js';
import type { Plan } from '../plan/plan.js';

/** Number of products of a proof, variables and degree of their sumcheck; known before any challenge. */
export function productShape(plan: Plan): { count: number; variables: number; degree: number } {
  let [count, variables, degree] = [0, 0, 2];
  for (const { program, batchBits } of plan.groups) {
    const expressions = [...program.requants, ...program.outputs].map(({ expression }) => expression);
    for (const product of expressions.flatMap(({ products }) => products)) {
      count++;
      const bound = boundLabels(product);
      const sharesBatch = product.p.batched && product.q.batched;
      variables = Math.max(
        variables,
        bound.reduce((sum, label) => sum + bitsOf(product.labels[label]!), sharesBatch ? batchBits : 0),
      );
      if (sharesBatch || bound.some((label) => product.outputLabels.includes(label) && product.labels[label]! > 1))
        degree = 3;
    }
  }
  return { count, variables, degree };
}

/** Labels of both operands: those that the sumcheck binds. */
const boundLabels = ({ p, q }: Product): number[] => p.labels.filter((label) => q.labels.includes(label));
