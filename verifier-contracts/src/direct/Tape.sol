// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// A public input as the statement needs it.
struct InputPort {
    /// Range of its elements.
    int256 lo;
    int256 hi;
    /// Bits of a cell inside a public word: 8 or 16.
    uint256 cellBits;
    /// With the bits of each axis behind the sides (ProgramReader.sol).
    uint256[] axes;
    /// Register of the sum of the packed weights over all cells.
    uint256 ones;
}

/// A public output.
struct OutputPort {
    /// Range of the published integers.
    int256 lo;
    int256 hi;
    /// As in the program.
    uint256 argMaxAxisPlusOne;
    uint256[] axes;
    /// Registers of the weights of its claim, item-major, and their number.
    uint256 weights;
    uint256 length;
}

/// What a proof of a program looks like for one number of items and one n, and where its registers lie. The words of the
/// struct are the head of a tape; addresses are those of the memory of a verification.
struct Shape {
    /// Where the tape is laid: behind the registers. And its bytes.
    uint256 start;
    uint256 size;
    uint256 n;
    /// log2 of the cells of a chunk: the variables of phase L.
    uint256 lookupBits;
    uint256 items;
    uint256 witnessChunks;
    uint256 tableChunks;
    uint256 modelChunks;
    /// 1 or 0.
    uint256 hasMaxima;
    uint256 hasValues;
    /// Phase A: number of products, variables, degree.
    uint256 products;
    uint256 variables;
    uint256 degree;
    /// Columns of the proof: those before the lookup challenges, and all; and with those of the model.
    uint256 firstColumns;
    uint256 proofColumns;
    uint256 columns;
    InputPort[] inputs;
    OutputPort[] outputs;
    /// First record, behind the last of those that phase L needs, and behind the last.
    uint256 records;
    uint256 lookupsEnd;
    uint256 recordsEnd;
    // --- Registers that the verifier writes before the tape runs.
    /// Coordinates: r_e, tau_out, tau, R and R_t (each a chunk point before r*), the end points of phases A and O.
    uint256 wordPoint;
    uint256 wordPointBits;
    uint256 outputPoint;
    uint256 outputPointBits;
    uint256 tau;
    uint256 witnessPoint;
    uint256 witnessChunkBits;
    uint256 tablePoint;
    uint256 tableChunkBits;
    uint256 rho;
    uint256 u;
    /// Powers of lambda from 1 on, by claim; powers of gamma from gamma on, by operand.
    uint256 lambdas;
    uint256 claims;
    uint256 gammas;
    // --- Registers that the tape writes.
    /// By witness chunk, four each: masks of requantised, looked-up and maximum cells, tag.
    uint256 masks;
    /// By table chunk, four each: mask, a, b, tag.
    uint256 rows;
    /// eq of the chunk points with each chunk.
    uint256 witnessWeights;
    uint256 tableWeights;
    /// eq(tau, r*).
    uint256 eqTau;
    /// What everybody knows of the right side of the claims.
    uint256 known;
    /// By product: the factor of P Q. By operand: what everybody knows of it.
    uint256 productWeights;
    uint256 operandKnown;
    /// By column: the factor of its commitment.
    uint256 coefficients;
}

// Registers are words of memory from here on: the numbers 1 and 1/2, then those of the shape in its order, then the
// tape's own. Below lies r (ProgramMemory.sol).
uint256 constant REGISTERS = 0x1800;
uint256 constant ONE_AT = 0x1800;
uint256 constant HALF_AT = 0x1820;

// --- Records: a word each. Bits 248 to 255: the operation; 224 to 247: the register that it writes; below, from the
// lowest bits on, its operands, registers and counts of 24 bits unless told otherwise. Lists are registers in a row.

// The first six are those that the runner's loop does itself; within both parts the frequent ones stand first.

// (f, f, ...) two to eight factors, an even number: adds the product.
uint256 constant OP_ACCUMULATE = 1;
// (register, number: 48, signed; ...) one to three pairs: adds the sum of the products.
uint256 constant OP_SCALE = 2;
// (from, point, count: 8, pattern: 32) from times eq of the first 1, 2, ..., count coordinates with the bits of the pattern.
uint256 constant OP_SELECT = 3;
// (f, f, ...) two to eight factors, an even number: the product.
uint256 constant OP_MULTIPLY = 4;
// (point, bits: 8, side: 32) sum over i < side of eq(point, i); side below 2^bits.
uint256 constant OP_SUM = 5;
// A number, in the word behind the record.
uint256 constant OP_NUMBER = 6;
// (row, t, s, count, step of t, step of s) adds row times the inner product of two progressions; steps signed, in bytes.
uint256 constant OP_RUN = 7;
// (a, b, bits: 8, side: 32) sum over i < side of eq(a, i) eq(b, i); side below 2^bits.
uint256 constant OP_PAIR = 8;
// (a, b, bits: 8) eq(a, b).
uint256 constant OP_EQUAL = 9;
// (point, bits: 8, side: 32) the list of eq(point, i), i < side.
uint256 constant OP_EXPAND = 10;
// (point, n: 8, wholes, chunk: 16, bound: 48) sums of eq and of the row's number times eq over the rows below a bound.
uint256 constant OP_PREFIX = 11;
// (pairs, u or 0, bits: 8, side: 32) sum over i < side of the product over bits of the pair's element [times eq(u, i)].
uint256 constant OP_MASKED = 12;
// (a, length of a, b, length of b) the list a_i b_j, row by row.
uint256 constant OP_OUTER = 13;
// (pattern: 24, count: 8, point, bits: 8) coordinates: the bits of the pattern, then those of the point, `bits` in all.
uint256 constant OP_LEAD = 14;
// (word point, index bits: 8, bits: 8, cell bits: 8) packed weights: by index bit, for 0 and for 1.
uint256 constant OP_PACKED = 15;
// (point, n: 8) the list of sums of i eq(point, i) over the last k coordinates, k = 0 .. n.
uint256 constant OP_WHOLES = 16;
