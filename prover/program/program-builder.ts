/** The program as it grows: slots, tables, and the draft expression of every tensor seen so far. */
import { AssayError } from '../../common/errors.js';
import type { IntegerGraph, IntegerNode, RequantNode, TensorId } from '../../graph/integer/types.js';
import { identityBlocks, MAX_ENTRIES, type Block } from './blocks.js';
import type { Draft, SlotValues, WitnessOrigin } from './drafts.js';
import { materialiseTerm } from './materialise.js';
import type { InputSlot, LinearTerm, MaxSlot, ModelSlot, RequantSlot, Table, WitnessSlot } from './types.js';

export class ProgramBuilder {
  readonly witness: WitnessSlot[] = [];
  readonly origins: WitnessOrigin[] = [];
  readonly model: ModelSlot[] = [];
  readonly modelValues: SlotValues[] = [];
  readonly tables: Table[] = [];
  readonly inputs: InputSlot[] = [];
  readonly requants: RequantSlot[] = [];
  readonly requantNodes: RequantNode[] = [];
  readonly maxima: MaxSlot[] = [];
  private readonly drafts: (Draft | undefined)[];
  /** The node that computes a tensor. */
  readonly producers: ReadonlyMap<TensorId, IntegerNode>;

  /** @throws AssayError NOT_PROVABLE for an axis longer than the lists that views are made of. */
  constructor(readonly graph: IntegerGraph) {
    for (const { name, shape } of graph.tensors)
      if (shape.some((side) => side > MAX_ENTRIES))
        throw new AssayError('NOT_PROVABLE', `tensor '${name}' has an axis of more than ${MAX_ENTRIES} elements`);
    this.drafts = new Array<Draft | undefined>(graph.tensors.length).fill(undefined);
    this.producers = new Map(graph.nodes.map((node) => [node.output, node]));
  }

  shape(id: TensorId): readonly number[] {
    return this.graph.tensors[id]!.shape;
  }

  draft(id: TensorId): Draft {
    const draft = this.drafts[id];
    if (!draft) throw new AssayError('INTERNAL', `tensor ${id} is read before it is computed`);
    return draft;
  }

  /** A tensor that other nodes may multiply: no product inside. */
  view(id: TensorId): readonly LinearTerm[] {
    const { linear, products } = this.draft(id);
    if (products.length > 0)
      throw new AssayError(
        'NOT_PROVABLE',
        `reads tensor '${this.graph.tensors[id]!.name}', a sum of products that was not requantised`,
      );
    return linear.map((term) => materialiseTerm(this, term, null));
  }

  setDraft(id: TensorId, draft: Draft): void {
    this.drafts[id] = draft;
  }

  addWitness(name: string, axes: readonly number[], origin: WitnessOrigin): number {
    this.witness.push({ name, axes });
    this.origins.push(origin);
    return this.witness.length - 1;
  }

  addModel(name: string, axes: readonly number[], values: SlotValues): number {
    this.model.push({ name, axes });
    this.modelValues.push(values);
    return this.model.length - 1;
  }

  addTable(table: Table): number {
    if (table.kind === 'clamp') {
      // One table serves all clamps to the same bounds: on more rows it is still the same function.
      const same = this.tables.findIndex((t) => t.kind === 'clamp' && t.lo === table.lo && t.hi === table.hi);
      if (same >= 0) {
        const other = this.tables[same] as Extract<Table, { kind: 'clamp' }>;
        this.tables[same] = { ...other, qLo: Math.min(other.qLo, table.qLo), qHi: Math.max(other.qHi, table.qHi) };
        return same;
      }
    }
    if (table.kind === 'input') {
      const same = this.tables.findIndex((t) => t.kind === 'input' && t.lo === table.lo && t.hi === table.hi);
      if (same >= 0) return same;
    }
    this.tables.push(table);
    return this.tables.length - 1;
  }

  addInput(id: TensorId): void {
    const { name, shape, range } = this.graph.tensors[id]!;
    const values = range.hi - range.lo + 1;
    if (values > 1 << 16)
      throw new AssayError('NOT_PROVABLE', `input '${name}' takes ${values} values; a proof admits 65536`);
    const slot = this.addWitness(name, shape, { kind: 'tensor', tensor: id, shape, toSlot: identityBlocks(shape) });
    this.inputs.push({
      slot,
      table: this.addTable({ kind: 'input', lo: range.lo, hi: range.hi }),
      cellBits: values <= 256 ? 8 : 16,
    });
    this.drafts[id] = this.slotDraft(slot, shape, identityBlocks(shape));
  }

  /** A tensor read from a slot. */
  slotDraft(slot: number, axes: readonly number[], blocks: readonly Block[]): Draft {
    return { axes, linear: [{ coefficient: 1n, source: { kind: 'witness', slot }, blocks }], products: [] };
  }
}
