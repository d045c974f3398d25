/** Requantisations: the slot of a table's outputs, and the linear expression under it with everything folded in. */
import { REQUANT_SHIFT, type RequantNode } from '../../graph/integer/types.js';
import { composeBlocks, identityBlocks, inverseBlocks, isBijection } from './blocks.js';
import { broadcastBlocks, type Draft } from './drafts.js';
import { materialise, splitting } from './materialise.js';
import type { ProgramBuilder } from './program-builder.js';
import type { LinearTerm } from './types.js';

export function requant(b: ProgramBuilder, node: RequantNode): Draft {
  const draft = b.draft(node.x);
  const axes = b.shape(node.output);
  // The slot takes the axes that its first product computes: a reshape between the two moves behind the slot.
  const first = draft.products[0];
  const regrouped = first !== undefined && isBijection(first.blocks);
  const slotAxes = regrouped ? first.outputLabels.map((label) => first.labels[label]!) : axes;
  const toSlot = regrouped
    ? first.blocks.map((block) => ({
        ...block,
        source: block.source.map((label) => first.outputLabels.indexOf(label)),
      }))
    : identityBlocks(axes);
  const { table } = node;
  const slot = b.addWitness(b.graph.tensors[node.output]!.name, slotAxes, {
    kind: 'tensor',
    tensor: node.output,
    shape: axes,
    toSlot,
  });
  const tableIndex =
    table.kind === 'clamp'
      ? b.addTable({ kind: 'clamp', lo: table.lo, hi: table.hi, qLo: table.qLo, qHi: table.qHi })
      : b.addTable({
          kind: 'values',
          qLo: table.qLo,
          rows: table.values.length,
          slot: b.addModel(`${node.name}.table`, [table.values.length], Float64Array.from(table.values)),
        });
  const scaled = materialise(b, draft, node);
  const fromSlot = inverseBlocks(toSlot);
  const rounding: LinearTerm = {
    coefficient: 1n << BigInt(REQUANT_SHIFT - 1),
    source: { kind: 'one' },
    blocks: broadcastBlocks(slotAxes),
  };
  b.requants.push({
    slot,
    table: tableIndex,
    expression: splitting({
      axes: slotAxes,
      linear: [rounding, ...scaled.linear.map((term) => ({ ...term, blocks: composeBlocks(fromSlot, term.blocks) }))],
      products: scaled.products.map((product) => ({ ...product, blocks: composeBlocks(fromSlot, product.blocks) })),
    }),
  });
  b.requantNodes.push(node);
  return b.slotDraft(slot, axes, toSlot);
}
