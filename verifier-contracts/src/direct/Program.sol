// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// The shape program of a model in memory; prover/program/types.ts is the same in TypeScript and says what it means.
// Numbers are words; signed ones are int256, coefficients are elements of Fr. All structs and arrays are laid out by
// Solidity's rules, so that loops in Yul can walk them.

/// A model's program, as ProgramReader finds it in the canonical bytes.
struct Program {
    /// log2 of the cells in one committed column of the model.
    uint256 modelBits;
    /// Sides of the axes of each witness slot, and of each model slot.
    uint256[][] witness;
    uint256[][] model;
    Table[] tables;
    InputSlot[] inputs;
    RequantSlot[] requants;
    MaxSlot[] maxima;
    PublicOutput[] outputs;
}

/// A table of rows (a, b). clamp: (q, clamp(q, lo, hi)) for qLo <= q <= qHi. values: (qLo + i, value i) for
/// `rows` values in a model slot. input: (0, v) for lo <= v <= hi.
struct Table {
    uint256 kind;
    int256 lo;
    int256 hi;
    int256 qLo;
    int256 qHi;
    uint256 rows;
    uint256 slot;
}

struct InputSlot {
    uint256 slot;
    /// Of kind input.
    uint256 table;
    /// Bits of a cell inside a public word: 8 or 16.
    uint256 cellBits;
}

struct RequantSlot {
    uint256 slot;
    uint256 table;
    Expression expression;
}

struct MaxSlot {
    uint256 slot;
    Term[][] taps;
}

struct PublicOutput {
    /// Range of the published integers.
    int256 lo;
    int256 hi;
    /// The requester's output is the index of the maximum along this axis less one; 0: the tensor itself.
    uint256 argMaxAxisPlusOne;
    /// Its axes are those of the published tensor.
    Expression expression;
}

struct Expression {
    uint256[] axes;
    Term[] linear;
    Product[] products;
}

/// coefficient * (source seen through blocks).
struct Term {
    uint256 coefficient;
    /// SOURCE_WITNESS, SOURCE_MODEL or SOURCE_ONE.
    uint256 source;
    uint256 slot;
    Block[] blocks;
}

/// An einsum over labels; sets of labels are bit masks, label i being bit i.
struct Product {
    uint256 coefficient;
    /// Side of each label.
    uint256[] labels;
    uint256 outputLabels;
    Operand p;
    Operand q;
    Block[] blocks;
}

struct Operand {
    uint256 labels;
    bool batched;
    Term[] terms;
}

/// A sparse map between a few axes of the target and a few of the source. Lists of axes are bytes, the first in the
/// lowest byte; the sides are those of the two spaces.
struct Block {
    /// BLOCK_EQUAL, BLOCK_SUM or BLOCK_ENTRIES.
    uint256 kind;
    uint256 targetCount;
    uint256 sourceCount;
    uint256 targetAxes;
    uint256 sourceAxes;
    /// Products of the sides.
    uint256 targetSize;
    uint256 sourceSize;
    /// Where the runs of entries begin in memory, and their number.
    uint256 runs;
    uint256 runCount;
}

// t = s as row-major indices, weight 1.
uint256 constant BLOCK_EQUAL = 0;
// Every t of one axis, weight 1, no source: entries in the form that a sum over an axis always has.
uint256 constant BLOCK_SUM = 1;
// Runs of entries (count, step of t, step of s, weight).
uint256 constant BLOCK_ENTRIES = 2;

uint256 constant TABLE_CLAMP = 0;
uint256 constant TABLE_VALUES = 1;
uint256 constant TABLE_INPUT = 2;

uint256 constant SOURCE_WITNESS = 0;
uint256 constant SOURCE_MODEL = 1;
uint256 constant SOURCE_ONE = 2;
