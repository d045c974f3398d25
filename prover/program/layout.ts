/**
 * Where tensors lie in columns of 2^n cells. Each axis of side d takes ceil(log2 d) index bits, most significant axis
 * first, so that a slot has 2^k cells and padding where a side is no power of two. Slots are placed at multiples of
 * their size: largest first, ties in the order given. So the index of a cell is the slot's number in its top bits and
 * the position inside the slot in the bits below.
 */

/** ceil(log2 side), for side >= 1. */
export const bitsOf = (side: number): number => (side === 1 ? 0 : 32 - Math.clz32(side - 1));

export const bitsOfAxes = (axes: readonly number[]): number => axes.reduce((bits, side) => bits + bitsOf(side), 0);

export interface Placement {
  /** First cell of each slot, by index of the slot. */
  readonly offsets: readonly number[];
  /** Cells up to the end of the last slot. */
  readonly cells: number;
}

export function placeSlots(slotBits: readonly number[]): Placement {
  const order = slotBits.map((_, i) => i).sort((a, b) => slotBits[b]! - slotBits[a]! || a - b);
  const offsets = new Array<number>(slotBits.length).fill(0);
  let cells = 0;
  // Falling sizes: every end is a multiple of the next size.
  for (const i of order) {
    offsets[i] = cells;
    cells += 2 ** slotBits[i]!;
  }
  return { offsets, cells };
}

/** Cells from one index of an axis to the next inside a slot. */
export function cellStrides(axes: readonly number[]): number[] {
  const strides = new Array<number>(axes.length);
  for (let axis = axes.length - 1, stride = 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= 2 ** bitsOf(axes[axis]!);
  }
  return strides;
}

/** Cell of every element of an item, row-major, counted from the item's first cell. */
export function cellsOfItem(axes: readonly number[]): Int32Array {
  let cells = Int32Array.of(0);
  const strides = cellStrides(axes);
  axes.forEach((side, axis) => {
    const next = new Int32Array(cells.length * side);
    cells.forEach((cell, i) => {
      for (let index = 0; index < side; index++) next[i * side + index] = cell + index * strides[axis]!;
    });
    cells = next;
  });
  return cells;
}
