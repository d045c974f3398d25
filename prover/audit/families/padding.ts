/** Free cells against statements: no claim may read a padding cell, whatever its weight would let it be completed by. */
import { inverse, mul, sub } from '../../field/fr.js';
import { lowestOf, packInput, wordBits } from '../../plan/inputs.js';
import { slotOf } from '../../plan/plan.js';
import { bitsOfAxes, cellsOfItem } from '../../program/layout.js';
import type { AuditJob } from '../audited-prover.js';
import { proveJob } from '../audited-prover.js';
import type { Attempt, TamperFamily } from '../attack.js';
import { CASE_KINDS, randomGroup, type CaseKind } from '../cases.js';
import type { Draw } from '../draw.js';
import { changeGroup, locate, planOf, proveLie } from '../lies.js';

/**
 * The words of other inputs are published, and in every word one free cell takes what is missing:
 * cell = (w - sum over valid cells) / base^(cells behind it). Null where a word that differs has no free cell.
 */
export async function completeWords(job: AuditJob, draw: Draw): Promise<Attempt[]> {
  const plan = planOf(job);
  const group = job.groups[0]!;
  const { program } = group.built;
  const other = randomGroup(group.graph, group.items, draw).inputs;
  const writes: { cell: number; value: bigint }[] = [];
  for (const [i, input] of program.inputs.entries()) {
    const { axes } = program.witness[input.slot]!;
    const perWord = 2 ** wordBits(program, input);
    const valid = new Set(cellsOfItem(axes));
    const [honest, wanted] = [group.inputs[i]!, other[i]!].map((values) =>
      packInput(program, input, group.items, values),
    );
    const { offset } = slotOf(plan.groups[0]!, input.slot);
    for (let b = 0; b < group.items; b++)
      for (const [k, [word, value]] of wanted![b]!.entries()) {
        const missing = value - honest![b]![k]![1];
        if (missing === 0n) continue;
        const place = Array.from({ length: perWord }, (_, at) => at).find((at) => !valid.has(word * perWord + at));
        if (place === undefined) return [];
        const cell = offset + b * 2 ** bitsOfAxes(axes) + word * perWord + place;
        // The words hold x - lo on valid cells alone; with the unmasked weights a free cell counts its own lo too.
        const scale = inverse(1n << BigInt(input.cellBits * (perWord - 1 - place)));
        writes.push({
          cell,
          value: sub(mul(scale, missing < 0n ? sub(0n, -missing) : missing), sub(0n, lowestOf(program, input))),
        });
      }
  }
  if (writes.length === 0) return [];
  const statement = changeGroup(job.statement, 0, { inputs: other });
  const proof = await proveJob(
    { ...job, statement },
    {
      columns: (columns) => {
        for (const { cell, value } of writes) {
          const { column, at } = locate(plan, 'y', cell);
          columns.get(column)![at] = value;
        }
      },
    },
  );
  return [{ what: `${writes.length} words completed`, proof, statement }];
}

const PADDED: readonly CaseKind[] = ['scale', 'sumPool', 'mul', 'biasBroadcast', 'matmulActivations', 'maxPoolPadded'];

export const paddingFamilies: readonly TamperFamily[] = [
  { name: 'words of another input, completed by padding cells', kinds: PADDED, attack: completeWords },
  {
    name: 'a false output, and the free cells of every slot filled to make it up',
    kinds: CASE_KINDS,
    attack: async (job, draw) => {
      const attempts = await proveLie(job, ({ witness, masks }) => {
        masks.looked.forEach((looked, cell) => {
          if (!looked && !masks.maxima[cell]) witness.y[cell] = draw.pick([0, 1, -1, 1000]);
        });
        return { what: 'small integers in all free cells' };
      });
      const { outputs, key } = job.statement.groups[0]!;
      const o = draw.int(0, outputs.length - 1);
      const { hi } = key.program.outputs[o]!.range;
      const at = draw.int(0, outputs[o]!.length - 1);
      const values = outputs[o]!.map((v, i) => (i === at ? (v < hi ? v + 1 : v - 1) : v));
      return attempts.map((attempt) => ({
        ...attempt,
        statement: changeGroup(job.statement, 0, { outputs: outputs.map((v, i) => (i === o ? values : v)) }),
      }));
    },
  },
];
