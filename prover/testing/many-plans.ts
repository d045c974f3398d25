/** Plans of random jobs: one to three graphs, several items, one or many chunks. */
import { CASE_KINDS, randomCase, withModelBits, type AuditGroup } from '../audit/cases.js';
import type { Draw } from '../audit/draw.js';
import { makePlan, type Plan } from '../plan/plan.js';

export function randomJobs(draw: Draw): { groups: AuditGroup[]; plan: Plan } {
  const groups = Array.from({ length: draw.int(1, 3) }, () => randomCase(draw.pick(CASE_KINDS), draw)).map((group) =>
    draw.chance(0.3) ? { ...group, built: withModelBits(group.built, 8) } : group,
  );
  const n = Math.max(...groups.map(({ built }) => built.program.modelBits)) + draw.pick([0, 0, 1, 1, 2, 3]);
  return {
    groups,
    plan: makePlan(
      groups.map(({ built, items }) => ({ program: built.program, items })),
      n,
    ),
  };
}
