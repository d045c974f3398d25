// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Plan, PlacedTable} from "./Plan.sol";
import {
    Block,
    Expression,
    InputSlot,
    MaxSlot,
    Operand,
    Product,
    Program,
    PublicOutput,
    RequantSlot,
    SOURCE_ONE,
    SOURCE_WITNESS,
    Table,
    TABLE_CLAMP,
    TABLE_INPUT,
    TABLE_VALUES,
    Term
} from "./Program.sol";
import {ProgramReader} from "./ProgramReader.sol";
import {
    HALF_AT,
    InputPort,
    ONE_AT,
    OP_MASKED,
    OP_PACKED,
    OP_PREFIX,
    OP_WHOLES,
    OutputPort,
    Shape
} from "./Tape.sol";
import {ColumnPoint, TapeViews, View, Weight} from "./TapeViews.sol";
import {Factors, Tape, TapeWriter} from "./TapeWriter.sol";

/// @title Writes the tape of a program: prover/plan/{claims,coefficients,lookup}.ts with registers in place of values
/// @notice A proof of a program for a number of items and an n is checked by one list of operations in Fr, whatever the
/// proof: masks and tables at r*, then for every claim what everybody knows of it, the factor of every product, and the
/// coefficient of every column at u. The order is that of the TypeScript code; sums do not depend on it.
library TapeCompiler {
    using TapeWriter for Tape;
    using TapeWriter for Factors;

    /// @notice An input is looked up in a table that is none of inputs, a number is beyond what a record holds, or a slot
    /// has no column to lie in.
    error ProgramInconsistent();

    uint256 private constant MAX_TAPS = 4;
    uint256 private constant SHAPE_BYTES = 44 * 32;
    /// Of the lists in a shape.
    uint256 private constant INPUTS_AT = 16 * 32;
    uint256 private constant OUTPUTS_AT = 17 * 32;

    /// An operator of phase A with the weights that its claim puts on its output.
    struct ProductTerm {
        Product product;
        /// Of the claim, without the product's own coefficient.
        Factors scale;
        Weight batch;
        Weight[] factors;
        /// After phase A, at its end point: weights over the items and over the labels, for both operands.
        bool sharesBatch;
        Weight atRhoBatch;
        Weight[] labelFactors;
    }

    /// All that is known while a tape is written.
    struct Work {
        Program program;
        Plan plan;
        Shape shape;
        Tape tape;
        /// Witness slots by column at r*, at R as one each, and outputs.
        View[][] atPoint;
        View[] atR;
        View[] outputs;
        ProductTerm[] products;
        uint256 productCount;
        /// Slots by column at u.
        View[][] witness;
        View[][] model;
        /// Numbers of the first claims about taps, committed tables, outputs and inputs; of m.
        uint256 firstTap;
        uint256 committed;
        uint256 firstOutput;
        uint256 firstInput;
        uint256 multiplicities;
    }

    /// @notice The tape: shape, ports, records, as they lie in memory from `shape.start` on.
    function compile(Program memory program, Plan memory plan) internal pure returns (bytes memory tape) {
        Work memory work;
        work.program = program;
        work.plan = plan;
        work.tape = TapeWriter.begin();
        uint256 records = work.tape.next;
        _layOut(work);
        _lookups(work);
        work.shape.lookupsEnd = work.tape.next - records;
        _claims(work);
        _products(work);
        _coefficients(work);
        _ports(work);
        return _finished(work, records);
    }

    // --- Registers that the verifier writes or reads

    function _layOut(Work memory work) private pure {
        unchecked {
            Shape memory shape = work.shape;
            Plan memory plan = work.plan;
            Program memory program = work.program;
            shape.n = plan.n;
            shape.lookupBits = plan.lookupBits;
            shape.items = plan.items;
            shape.witnessChunks = plan.witnessChunks;
            shape.tableChunks = plan.tableChunks;
            shape.modelChunks = plan.modelChunks;
            shape.hasMaxima = plan.hasMaxima ? 1 : 0;
            shape.hasValues = plan.hasValues ? 1 : 0;
            shape.products = plan.products;
            shape.variables = plan.variables;
            shape.degree = plan.degree;
            shape.firstColumns = plan.firstColumns;
            shape.proofColumns = plan.proofColumns;
            shape.columns = plan.columns;
            shape.witnessChunkBits = ProgramReader.bitsOf(plan.witnessChunks);
            shape.tableChunkBits = ProgramReader.bitsOf(plan.tableChunks);
            for (uint256 i = 0; i < program.inputs.length; ++i) {
                uint256 own = _wordIndexBits(plan, program.inputs[i]);
                if (own > shape.wordPointBits) shape.wordPointBits = own;
            }
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                uint256 own = plan.batchBits + TapeViews.bitsOf(program.outputs[i].expression.axes);
                if (own > shape.outputPointBits) shape.outputPointBits = own;
            }
            _number(work);

            Tape memory tape = work.tape;
            // 1 and 1/2.
            tape.allocate(2);
            shape.wordPoint = tape.allocate(shape.wordPointBits);
            shape.outputPoint = tape.allocate(shape.outputPointBits);
            shape.tau = tape.allocate(plan.lookupBits);
            shape.witnessPoint = tape.allocate(shape.witnessChunkBits + plan.lookupBits);
            shape.tablePoint = tape.allocate(shape.tableChunkBits + plan.lookupBits);
            shape.rho = tape.allocate(plan.variables);
            shape.u = tape.allocate(plan.n);
            shape.lambdas = tape.allocate(shape.claims);
            shape.gammas = tape.allocate(2 * plan.products);
            shape.masks = tape.allocate(4 * plan.witnessChunks);
            shape.rows = tape.allocate(4 * plan.tableChunks);
            shape.known = tape.allocate(1);
            shape.productWeights = tape.allocate(plan.products);
            shape.operandKnown = tape.allocate(2 * plan.products);
            shape.coefficients = tape.allocate(plan.columns);
        }
    }

    /// @dev Claims in their order: relation, y, r0, r1, gw, [gx, four taps], m, gt, [committed tables], outputs, inputs.
    function _number(Work memory work) private pure {
        unchecked {
            Plan memory plan = work.plan;
            uint256 count = 5;
            if (plan.hasMaxima) {
                work.firstTap = 6;
                count = 6 + MAX_TAPS;
            }
            work.multiplicities = count;
            count += 2;
            if (plan.hasValues) work.committed = count++;
            work.firstOutput = count;
            count += work.program.outputs.length;
            work.firstInput = count;
            work.shape.claims = count + work.program.inputs.length;
        }
    }

    /// @dev Bits of a word's number over the batch.
    function _wordIndexBits(Plan memory plan, InputSlot memory input) private pure returns (uint256) {
        unchecked {
            uint256 inWord = input.cellBits == 8 ? 4 : 3;
            uint256 bits = plan.witnessBits[input.slot];
            uint256 ofItem = bits - plan.batchBits;
            return bits - (inWord < ofItem ? inWord : ofItem);
        }
    }

    // --- Phase L at r*

    function _lookups(Work memory work) private pure {
        unchecked {
            Shape memory shape = work.shape;
            Plan memory plan = work.plan;
            Program memory program = work.program;
            Tape memory tape = work.tape;
            uint256 point = _endOfL(shape);
            shape.eqTau = tape.pair(shape.tau, point, plan.lookupBits, 1 << plan.lookupBits);
            shape.witnessWeights = tape.expand(shape.witnessPoint, shape.witnessChunkBits, plan.witnessChunks);
            shape.tableWeights = tape.expand(shape.tablePoint, shape.tableChunkBits, plan.tableChunks);

            ColumnPoint memory here = TapeViews.columnPoint(point, plan.lookupBits, ONE_AT);
            work.atPoint = new View[][](program.witness.length);
            for (uint256 slot = 0; slot < program.witness.length; ++slot) {
                work.atPoint[slot] = TapeViews.viewsOf(
                    tape,
                    here,
                    program.witness[slot],
                    plan.witnessOffsets[slot],
                    plan.witnessBits[slot],
                    plan.batchBits,
                    plan.items
                );
            }
            _masks(work);
            uint256 wholes = tape.once(OP_WHOLES, point | plan.lookupBits << 24, plan.lookupBits + 1);
            for (uint256 j = 0; j < plan.tableChunks; ++j) {
                _rows(work, point, wholes, j);
            }
        }
    }

    /// @dev r*: the last coordinates of R.
    function _endOfL(Shape memory shape) private pure returns (uint256) {
        unchecked {
            return shape.witnessPoint + 32 * shape.witnessChunkBits;
        }
    }

    /// @dev Masks of requantised, looked-up and maximum cells, and the tag, by witness chunk. What is added to one
    /// register is added in a row, after all that it needs has been computed.
    function _masks(Work memory work) private pure {
        unchecked {
            Program memory program = work.program;
            for (uint256 slot = 0; slot < program.witness.length; ++slot) {
                for (uint256 k = 0; k < work.atPoint[slot].length; ++k) {
                    TapeViews.validOf(work.tape, work.atPoint[slot][k]);
                }
            }
            for (uint256 c = 0; c < work.plan.witnessChunks; ++c) {
                uint256 masks = work.shape.masks + 128 * c;
                for (uint256 i = 0; i < program.requants.length; ++i) {
                    _mask(work, program.requants[i].slot, c, masks, 0);
                }
                // All that is requantised is looked up.
                work.tape.scale(masks + 32, masks, 1);
                for (uint256 i = 0; i < program.inputs.length; ++i) {
                    _mask(work, program.inputs[i].slot, c, masks + 32, 0);
                }
                for (uint256 i = 0; i < program.maxima.length; ++i) {
                    _mask(work, program.maxima[i].slot, c, masks + 64, 0);
                }
                for (uint256 i = 0; i < program.requants.length; ++i) {
                    RequantSlot memory own = program.requants[i];
                    _mask(work, own.slot, c, masks + 96, work.plan.tags[own.table]);
                }
                for (uint256 i = 0; i < program.inputs.length; ++i) {
                    InputSlot memory own = program.inputs[i];
                    if (program.tables[own.table].kind != TABLE_INPUT) revert ProgramInconsistent();
                    _mask(work, own.slot, c, masks + 96, work.plan.tags[own.table]);
                }
            }
        }
    }

    /// @dev Adds the valid cells of a slot in a chunk; its whole place times the tag where there is one.
    function _mask(Work memory work, uint256 slot, uint256 chunk, uint256 to, uint256 tag) private pure {
        unchecked {
            View[] memory views = work.atPoint[slot];
            // Its columns are neighbours.
            uint256 k = chunk - views[0].column;
            if (k >= views.length) return;
            if (tag == 0) work.tape.scale(to, TapeViews.validOf(work.tape, views[k]), 1);
            else work.tape.scale(to, views[k].selector, int256(tag));
        }
    }

    /// Numbers times registers, each register once, in the making of a sum.
    struct Sum {
        uint256 count;
        uint256[] registers;
        int256[] numbers;
    }

    /// Terms that a table adds to one sum: three stretches, two bounds each, of two registers.
    uint256 private constant MOST_TERMS = 12;

    /// @dev The extensions of the table space at the point of a chunk: what a table adds is linear in the sums of eq and
    /// of the row's number times eq below its bounds. Bounds that two tables share are taken together.
    function _rows(Work memory work, uint256 point, uint256 wholes, uint256 chunk) private pure {
        unchecked {
            PlacedTable[] memory tables = work.plan.tables;
            Tape memory tape = work.tape;
            uint256 chunkPoint = point | work.plan.lookupBits << 24 | wholes << 32 | chunk << 56;
            Sum[4] memory sums;
            for (uint256 i = 0; i < 4; ++i) {
                sums[i].registers = new uint256[](MOST_TERMS * tables.length);
                sums[i].numbers = new int256[](MOST_TERMS * tables.length);
            }
            for (uint256 i = 0; i < tables.length; ++i) {
                PlacedTable memory table = tables[i];
                uint256 from = table.offset;
                uint256 to = from + table.rows;
                int256 shift = table.first - int256(from);
                _between(tape, sums[0], chunkPoint, from, to, 1, 0);
                _between(tape, sums[3], chunkPoint, from, to, int256(table.tag), 0);
                _between(tape, sums[table.kind == TABLE_INPUT ? 2 : 1], chunkPoint, from, to, shift, 1);
                if (table.kind == TABLE_CLAMP) {
                    // Rows below lo, and rows up to hi.
                    uint256 below = from + _clip(table.lo - table.first, table.rows);
                    uint256 upTo = from + _clip(table.hi - table.first + 1, table.rows);
                    _between(tape, sums[2], chunkPoint, from, below, table.lo, 0);
                    _between(tape, sums[2], chunkPoint, below, upTo, shift, 1);
                    _between(tape, sums[2], chunkPoint, upTo, to, table.hi, 0);
                }
            }
            for (uint256 i = 0; i < 4; ++i) {
                Sum memory own = sums[i];
                for (uint256 k = 0; k < own.count; ++k) {
                    tape.scale(work.shape.rows + 128 * chunk + 32 * i, own.registers[k], own.numbers[k]);
                }
            }
        }
    }

    function _clip(int256 count, uint256 rows) private pure returns (uint256) {
        if (count < 0) return 0;
        return uint256(count) > rows ? rows : uint256(count);
    }

    /// @dev Adds the sum over the rows from .. to - 1 of (ramp row + factor) eq.
    function _between(
        Tape memory tape,
        Sum memory sum,
        uint256 chunkPoint,
        uint256 from,
        uint256 to,
        int256 factor,
        int256 ramp
    ) private pure {
        unchecked {
            if (from == to) return;
            if (factor >= 1 << 198 || factor <= -(1 << 198)) revert ProgramInconsistent();
            for (uint256 i = 0; i < 2; ++i) {
                uint256 bound = i == 0 ? to : from;
                if (bound == 0) continue;
                if (bound >= 1 << 48) revert ProgramInconsistent();
                uint256 prefix = tape.once(OP_PREFIX, chunkPoint | bound << 72, 2);
                int256 sign = i == 0 ? int256(1) : int256(-1);
                _add(sum, prefix, sign * factor);
                _add(sum, prefix + 32, sign * ramp);
            }
        }
    }

    function _add(Sum memory sum, uint256 register, int256 number) private pure {
        unchecked {
            if (number == 0) return;
            uint256 k = 0;
            while (k < sum.count && sum.registers[k] != register) {
                ++k;
            }
            if (k == sum.count) sum.registers[sum.count++] = register;
            sum.numbers[k] += number;
        }
    }

    // --- Claims

    function _claims(Work memory work) private pure {
        unchecked {
            Program memory program = work.program;
            work.products = new ProductTerm[](work.plan.products);
            _viewsAtR(work);
            work.outputs = new View[](program.outputs.length);
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                uint256[] memory axes = program.outputs[i].expression.axes;
                uint256 own = work.plan.batchBits + TapeViews.bitsOf(axes);
                uint256 point = work.shape.outputPoint + 32 * (work.shape.outputPointBits - own);
                work.outputs[i] =
                    TapeViews.viewAt(work.tape, axes, point, work.plan.batchBits, work.plan.items, 0, 0);
            }
            for (uint256 i = 0; i < program.requants.length; ++i) {
                View memory own = work.atR[program.requants[i].slot];
                _known(work, _one(own.selector), program.requants[i].expression, own);
            }
            for (uint256 tap = 0; tap < MAX_TAPS; ++tap) {
                for (uint256 i = 0; i < program.maxima.length; ++i) {
                    View memory own = work.atR[program.maxima[i].slot];
                    _constants(work, work.shape.known, _tapScale(work, tap, own), _tapOf(program.maxima[i], tap), own.batch, own.factors);
                }
            }
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                _known(work, _one(_lambda(work, work.firstOutput + i)), program.outputs[i].expression, work.outputs[i]);
            }
        }
    }

    function _one(uint256 register) private pure returns (Factors memory factors) {
        factors.push(register);
    }

    /// @dev A power of lambda.
    function _lambda(Work memory work, uint256 claim) private pure returns (uint256) {
        unchecked {
            return claim == 0 ? ONE_AT : work.shape.lambdas + 32 * claim;
        }
    }

    function _tapScale(Work memory work, uint256 tap, View memory own) private pure returns (Factors memory scale) {
        unchecked {
            scale = _one(_lambda(work, work.firstTap + tap));
            scale.push(own.selector);
        }
    }

    function _tapOf(MaxSlot memory maximum, uint256 tap) private pure returns (Term[] memory) {
        unchecked {
            return maximum.taps[tap < maximum.taps.length ? tap : 0];
        }
    }

    /// @dev Every witness slot at R: selector over chunks and cells, weights inside.
    function _viewsAtR(Work memory work) private pure {
        unchecked {
            Plan memory plan = work.plan;
            Shape memory shape = work.shape;
            work.atR = new View[](work.atPoint.length);
            for (uint256 slot = 0; slot < work.atPoint.length; ++slot) {
                uint256 bits = plan.witnessBits[slot];
                View memory first = work.atPoint[slot][0];
                View memory own;
                if (bits <= plan.lookupBits) {
                    // The coordinates inside the slot are those of r*.
                    (own.batch, own.factors) = (first.batch, first.factors);
                    Factors memory factors = _one(first.selector);
                    factors.push(plan.witnessChunks == 1 ? ONE_AT : shape.witnessWeights + 32 * first.column);
                    own.selector = work.tape.product(factors);
                } else {
                    uint256 pointBits = shape.witnessChunkBits + plan.lookupBits;
                    uint256 depth = pointBits - bits;
                    ColumnPoint memory whole = TapeViews.columnPoint(shape.witnessPoint, pointBits, ONE_AT);
                    own = TapeViews.viewAt(
                        work.tape,
                        work.program.witness[slot],
                        shape.witnessPoint + 32 * depth,
                        plan.batchBits,
                        plan.items,
                        0,
                        0
                    );
                    own.selector = TapeViews.selector(work.tape, whole, plan.witnessOffsets[slot], depth);
                }
                work.atR[slot] = own;
            }
        }
    }

    /// @dev Adds what everybody knows of an expression, and notes its products.
    function _known(Work memory work, Factors memory scale, Expression memory expression, View memory own) private pure {
        unchecked {
            _constants(work, work.shape.known, scale, expression.linear, own.batch, own.factors);
            for (uint256 i = 0; i < expression.products.length; ++i) {
                ProductTerm memory term = work.products[work.productCount++];
                term.product = expression.products[i];
                term.scale = scale;
                (term.batch, term.factors) = (own.batch, own.factors);
                term.sharesBatch = term.product.p.batched && term.product.q.batched;
            }
        }
    }

    /// @dev Adds the terms whose source is the constant 1, under weights.
    function _constants(
        Work memory work,
        uint256 to,
        Factors memory scale,
        Term[] memory terms,
        Weight memory batch,
        Weight[] memory factors
    ) private pure {
        unchecked {
            Weight[] memory none;
            for (uint256 i = 0; i < terms.length; ++i) {
                Term memory term = terms[i];
                if (term.source != SOURCE_ONE) continue;
                Factors memory own = scale.copyOf();
                own.push(work.tape.number(term.coefficient));
                own.push(TapeViews.sumOf(work.tape, batch));
                TapeViews.evaluateView(work.tape, own, factors, term.blocks, none);
                work.tape.accumulate(to, own);
            }
        }
    }

    // --- The end of phase A

    function _products(Work memory work) private pure {
        unchecked {
            for (uint256 k = 0; k < work.productCount; ++k) {
                ProductTerm memory term = work.products[k];
                _bind(work, term, work.shape.productWeights + 32 * k);
                uint256 to = work.shape.operandKnown + 64 * k;
                Factors memory scale;
                _constants(work, to, scale, term.product.p.terms, _batchOf(term, term.product.p), term.labelFactors);
                _constants(work, to + 32, scale, term.product.q.terms, _batchOf(term, term.product.q), term.labelFactors);
            }
        }
    }

    /// @dev The weight over the items under which an operand is read; none where it is the same for all.
    function _batchOf(ProductTerm memory term, Operand memory operand) private pure returns (Weight memory none) {
        if (!operand.batched) return none;
        return term.sharesBatch ? term.atRhoBatch : term.batch;
    }

    /// @dev Splits the end point among the labels that the product binds, makes the weights of its operands, and writes
    /// the factor of P Q: 2^-(m - m_k) c_k E_k.
    function _bind(Work memory work, ProductTerm memory term, uint256 to) private pure {
        unchecked {
            Product memory product = term.product;
            Plan memory plan = work.plan;
            Factors memory weight = term.scale.copyOf();
            weight.push(work.tape.number(product.coefficient));
            Weight[] memory pushed =
                TapeViews.pushToLabels(work.tape, weight, term.factors, product.blocks, product.labels);
            uint256 bound = product.p.labels & product.q.labels;
            uint256 shared = bound & product.outputLabels;
            uint256 variables = _bitsOf(product.labels, bound) + (term.sharesBatch ? plan.batchBits : 0);
            for (uint256 j = variables; j < plan.variables; ++j) {
                weight.push(HALF_AT);
            }
            // Item bits, then shared labels, then contracted ones.
            uint256 rho = work.shape.rho + 32 * (plan.variables - variables);
            if (term.sharesBatch && plan.batchBits > 0) {
                term.atRhoBatch = TapeViews.eqWeight(rho, plan.batchBits, plan.items);
                weight.push(TapeViews.pairWeights(work.tape, term.batch, term.atRhoBatch));
                rho += 32 * plan.batchBits;
            }
            Weight[] memory atRho = new Weight[](product.labels.length);
            rho = _labelWeights(atRho, product.labels, shared, rho);
            _labelWeights(atRho, product.labels, bound & ~shared, rho);
            _sharedWeight(work.tape, weight, product.blocks, pushed, atRho, shared);
            work.tape.accumulate(to, weight);

            // Operands are read under eq(rho, .) on the labels of both, and under the output's weights on their own.
            for (uint256 label = 0; label < product.labels.length; ++label) {
                if ((bound >> label) & 1 == 1) pushed[label] = atRho[label];
            }
            term.labelFactors = pushed;
        }
    }

    function _bitsOf(uint256[] memory labels, uint256 set) private pure returns (uint256 total) {
        unchecked {
            for (uint256 label = 0; label < labels.length; ++label) {
                if ((set >> label) & 1 == 1) total += TapeViews.bitsAt(labels, label);
            }
        }
    }

    /// @dev eq(rho, .) for each label of a set, in rising order.
    function _labelWeights(Weight[] memory atRho, uint256[] memory labels, uint256 set, uint256 rho)
        private
        pure
        returns (uint256)
    {
        unchecked {
            for (uint256 label = 0; label < labels.length; ++label) {
                uint256 bits = TapeViews.bitsAt(labels, label);
                if ((set >> label) & 1 == 0 || bits == 0) continue;
                atRho[label] = TapeViews.eqWeight(rho, bits, labels[label]);
                rho += 32 * bits;
            }
            return rho;
        }
    }

    /// @dev E_k without the items: the output's weights on the shared labels, at rho.
    function _sharedWeight(
        Tape memory tape,
        Factors memory weight,
        Block[] memory blocks,
        Weight[] memory pushed,
        Weight[] memory atRho,
        uint256 shared
    ) private pure {
        unchecked {
            for (uint256 i = 0; i < blocks.length; ++i) {
                Block memory own = blocks[i];
                uint256 label = own.sourceAxes & 0xff;
                if (own.sourceCount == 0 || (shared >> label) & 1 == 0) continue;
                if (own.sourceCount == 1) {
                    weight.push(TapeViews.pairWeights(tape, pushed[label], atRho[label]));
                } else {
                    uint256 eq = TapeViews.combined(tape, atRho, own.sourceAxes, own.sourceCount, own.sourceSize);
                    weight.push(tape.dot(TapeViews.valuesOf(tape, pushed[label]), eq, own.sourceSize));
                }
            }
        }
    }

    // --- The coefficient of every column at the end point u of phase O: y, r0, r1, m, gw, [gx,] gt, model

    function _coefficients(Work memory work) private pure {
        unchecked {
            _columnFunctionals(work);
            _viewsAtU(work);
            Program memory program = work.program;
            for (uint256 i = 0; i < program.requants.length; ++i) {
                View memory own = work.atR[program.requants[i].slot];
                _linear(work, _one(own.selector), program.requants[i].expression.linear, own.batch, own.factors);
            }
            for (uint256 tap = 0; tap < MAX_TAPS; ++tap) {
                for (uint256 i = 0; i < program.maxima.length; ++i) {
                    View memory own = work.atR[program.maxima[i].slot];
                    _linear(work, _tapScale(work, tap, own), _tapOf(program.maxima[i], tap), own.batch, own.factors);
                }
            }
            if (work.plan.hasValues) _committedTables(work);
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                View memory own = work.outputs[i];
                Factors memory scale = _one(_lambda(work, work.firstOutput + i));
                _linear(work, scale, program.outputs[i].expression.linear, own.batch, own.factors);
            }
            for (uint256 k = 0; k < work.productCount; ++k) {
                ProductTerm memory term = work.products[k];
                uint256 gamma = work.shape.gammas + 64 * k;
                _linear(work, _one(gamma), term.product.p.terms, _batchOf(term, term.product.p), term.labelFactors);
                _linear(work, _one(gamma + 32), term.product.q.terms, _batchOf(term, term.product.q), term.labelFactors);
            }
        }
    }

    function _viewsAtU(Work memory work) private pure {
        unchecked {
            Plan memory plan = work.plan;
            Program memory program = work.program;
            uint256 u = work.shape.u;
            ColumnPoint memory here = TapeViews.columnPoint(u, plan.n, ONE_AT);
            work.witness = new View[][](program.witness.length);
            for (uint256 slot = 0; slot < program.witness.length; ++slot) {
                work.witness[slot] = TapeViews.viewsOf(
                    work.tape,
                    here,
                    program.witness[slot],
                    plan.witnessOffsets[slot],
                    plan.witnessBits[slot],
                    plan.batchBits,
                    plan.items
                );
            }
            // A model column is the part of a larger one whose leading bits are 0.
            uint256 leading = plan.n - program.modelBits;
            uint256 unused = TapeViews.selector(work.tape, here, 0, leading);
            here = TapeViews.columnPoint(u + 32 * leading, program.modelBits, unused);
            work.model = new View[][](program.model.length);
            for (uint256 slot = 0; slot < program.model.length; ++slot) {
                work.model[slot] = TapeViews.viewsOf(
                    work.tape, here, program.model[slot], plan.modelOffsets[slot], plan.modelBits[slot], 0, 1
                );
            }
        }
    }

    /// @dev eq(R, .) and eq(R_t, .) on whole families. A chunk is the part of its column whose leading bits are its place.
    function _columnFunctionals(Work memory work) private pure {
        unchecked {
            Plan memory plan = work.plan;
            Shape memory shape = work.shape;
            uint256 bits = plan.lookupBits;
            Spread memory spread;
            spread.eq = work.tape.pair(_endOfL(shape), shape.u + 32 * (plan.n - bits), bits, 1 << bits);
            spread.here = TapeViews.columnPoint(shape.u, plan.n, ONE_AT);
            for (uint256 claim = 1; claim < 4; ++claim) {
                _spread(work, spread, claim, shape.witnessWeights, plan.witnessChunks);
            }
            _spread(work, spread, work.multiplicities, shape.tableWeights, plan.tableChunks);
            spread.place = 0;
            spread.column = plan.firstColumns;
            _spread(work, spread, 4, shape.witnessWeights, plan.witnessChunks);
            if (plan.hasMaxima) _spread(work, spread, 5, shape.witnessWeights, plan.witnessChunks);
            _spread(work, spread, work.multiplicities + 1, shape.tableWeights, plan.tableChunks);
        }
    }

    /// Where functionals of families are put.
    struct Spread {
        uint256 eq;
        ColumnPoint here;
        /// First column of the families, and the place of the next chunk from there on.
        uint256 column;
        uint256 place;
    }

    function _spread(Work memory work, Spread memory spread, uint256 claim, uint256 weights, uint256 chunks)
        private
        pure
    {
        unchecked {
            uint256 bits = work.plan.lookupBits;
            uint256 spare = work.plan.n - bits;
            for (uint256 c = 0; c < chunks; ++c) {
                Factors memory factors = _one(spread.eq);
                factors.push(_lambda(work, claim));
                factors.push(chunks == 1 ? ONE_AT : weights + 32 * c);
                factors.push(TapeViews.selector(work.tape, spread.here, spread.place << bits, spare));
                uint256 column = spread.column + (spread.place >> spare);
                work.tape.accumulate(work.shape.coefficients + 32 * column, factors);
                ++spread.place;
            }
        }
    }

    /// @dev Adds to the columns what the linear terms put on them.
    function _linear(
        Work memory work,
        Factors memory scale,
        Term[] memory terms,
        Weight memory batch,
        Weight[] memory factors
    ) private pure {
        unchecked {
            Tape memory tape = work.tape;
            for (uint256 i = 0; i < terms.length; ++i) {
                Term memory term = terms[i];
                if (term.source == SOURCE_ONE) continue;
                bool isWitness = term.source == SOURCE_WITNESS;
                uint256 columns = work.shape.coefficients + (isWitness ? 0 : 32 * work.plan.proofColumns);
                View[] memory views = isWitness ? work.witness[term.slot] : work.model[term.slot];
                for (uint256 k = 0; k < views.length; ++k) {
                    View memory own = views[k];
                    Factors memory product = scale.copyOf();
                    product.push(tape.number(term.coefficient));
                    // A model is the same for every item.
                    product.push(isWitness ? TapeViews.pairWeights(tape, batch, own.batch) : TapeViews.sumOf(tape, batch));
                    product.push(own.selector);
                    TapeViews.evaluateView(tape, product, factors, term.blocks, own.factors);
                    tape.accumulate(columns + 32 * own.column, product);
                }
            }
        }
    }

    /// @dev The committed values of tables at R_t: eq on the rows of each.
    function _committedTables(Work memory work) private pure {
        unchecked {
            Shape memory shape = work.shape;
            uint256 pointBits = shape.tableChunkBits + work.plan.lookupBits;
            ColumnPoint memory whole = TapeViews.columnPoint(shape.tablePoint, pointBits, ONE_AT);
            for (uint256 i = 0; i < work.plan.tables.length; ++i) {
                PlacedTable memory table = work.plan.tables[i];
                if (table.kind != TABLE_VALUES) continue;
                uint256 bits = ProgramReader.bitsOf(table.rows);
                if (bits > pointBits) revert ProgramInconsistent();
                uint256 depth = pointBits - bits;
                uint256 selector = TapeViews.selector(work.tape, whole, table.offset, depth);
                Weight memory weight = TapeViews.eqWeight(shape.tablePoint + 32 * depth, bits, table.rows);
                View[] memory views = work.model[table.slot];
                for (uint256 k = 0; k < views.length; ++k) {
                    Factors memory product = _one(_lambda(work, work.committed));
                    product.push(selector);
                    product.push(views[k].selector);
                    if (bits > 0) product.push(TapeViews.pairWeights(work.tape, weight, views[k].factors[0]));
                    work.tape.accumulate(shape.coefficients + 32 * (work.plan.proofColumns + views[k].column), product);
                }
            }
        }
    }

    // --- Public inputs and outputs

    function _ports(Work memory work) private pure {
        unchecked {
            Program memory program = work.program;
            work.shape.inputs = new InputPort[](program.inputs.length);
            for (uint256 i = 0; i < program.inputs.length; ++i) {
                InputSlot memory input = program.inputs[i];
                Table memory table = program.tables[input.table];
                work.shape.inputs[i] =
                    InputPort(table.lo, table.hi, input.cellBits, program.witness[input.slot], _packed(work, i));
            }
            work.shape.outputs = new OutputPort[](program.outputs.length);
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                PublicOutput memory output = program.outputs[i];
                (uint256 weights, uint256 length) = TapeViews.writtenOut(work.tape, work.outputs[i]);
                work.shape.outputs[i] =
                    OutputPort(output.lo, output.hi, output.argMaxAxisPlusOne, output.expression.axes, weights, length);
            }
        }
    }

    /// @dev Packed weights of an input, masked: their sum, and at u in the columns; prover/plan/inputs.ts.
    /// @return ones register of their sum
    function _packed(Work memory work, uint256 index) private pure returns (uint256 ones) {
        unchecked {
            InputSlot memory input = work.program.inputs[index];
            uint256[] memory axes = work.program.witness[input.slot];
            uint256 bits = work.plan.witnessBits[input.slot];
            uint256 indexBits = _wordIndexBits(work.plan, input);
            uint256 word = work.shape.wordPoint + 32 * (work.shape.wordPointBits - indexBits);
            uint256 pairs = work.tape.once(OP_PACKED, word | indexBits << 24 | bits << 32 | input.cellBits << 40, 2 * bits);
            View[] memory views = work.witness[input.slot];
            for (uint256 k = 0; k < views.length; ++k) {
                Factors memory product = _one(_lambda(work, work.firstInput + index));
                product.push(views[k].selector);
                _maskedProduct(work, product, pairs, axes, views[k], true);
                work.tape.accumulate(work.shape.coefficients + 32 * views[k].column, product);
            }
            Factors memory sum;
            _maskedProduct(work, sum, pairs, axes, views[0], false);
            return work.tape.product(sum);
        }
    }

    /// @dev Sum over items and indices of the packed weights, times eq(u, .) where `atU`: a product over axes.
    function _maskedProduct(
        Work memory work,
        Factors memory product,
        uint256 pairs,
        uint256[] memory axes,
        View memory own,
        bool atU
    ) private pure {
        unchecked {
            for (uint256 i = 0; i <= axes.length; ++i) {
                Weight memory weight = i == 0 ? own.batch : own.factors[i - 1];
                if (weight.side == 0) continue;
                uint256 operands = pairs | (atU ? weight.point : 0) << 24 | weight.bits << 48 | weight.side << 56;
                product.push(work.tape.once(OP_MASKED, operands, 1));
                pairs += 64 * weight.bits;
            }
        }
    }

    // --- The finished tape

    /// @dev Shape, ports, sides, records: words with the addresses that they have when they are laid at `shape.start`.
    function _finished(Work memory work, uint256 records) private pure returns (bytes memory tape) {
        unchecked {
            Shape memory shape = work.shape;
            uint256 recordsSize = work.tape.next - records;
            shape.start = work.tape.free;
            uint256 place;
            // Assembly: words are put one behind another at the free pointer, behind a length that is known at the end.
            assembly ("memory-safe") {
                tape := mload(0x40)
                place := add(add(tape, 0x20), SHAPE_BYTES)
            }
            InputPort[] memory inputs = shape.inputs;
            OutputPort[] memory outputs = shape.outputs;
            uint256 moved;
            // From where words lie here to where they will lie.
            moved = shape.start - (place - SHAPE_BYTES);
            uint256 inputList;
            uint256 outputList;
            (place, inputList) = _putList(place, inputs.length, 0xa0, moved);
            for (uint256 i = 0; i < inputs.length; ++i) {
                InputPort memory port = inputs[i];
                uint256 axes;
                (place, axes) = _putAxes(place, port.axes, moved);
                assembly ("memory-safe") {
                    let to := sub(mload(add(sub(inputList, moved), shl(5, add(i, 1)))), moved)
                    mcopy(to, port, 0xa0)
                    mstore(add(to, 0x60), axes)
                }
            }
            (place, outputList) = _putList(place, outputs.length, 0xc0, moved);
            for (uint256 i = 0; i < outputs.length; ++i) {
                OutputPort memory port = outputs[i];
                uint256 axes;
                (place, axes) = _putAxes(place, port.axes, moved);
                assembly ("memory-safe") {
                    let to := sub(mload(add(sub(outputList, moved), shl(5, add(i, 1)))), moved)
                    mcopy(to, port, 0xc0)
                    mstore(add(to, 0x60), axes)
                }
            }
            shape.records = place + moved;
            shape.lookupsEnd += shape.records;
            shape.recordsEnd = shape.records + recordsSize;
            shape.size = shape.recordsEnd - shape.start;
            assembly ("memory-safe") {
                mcopy(place, records, recordsSize)
                mcopy(add(tape, 0x20), shape, SHAPE_BYTES)
                // The lists of the shape are those behind it.
                mstore(add(tape, add(0x20, INPUTS_AT)), inputList)
                mstore(add(tape, add(0x20, OUTPUTS_AT)), outputList)
                let size := mload(add(shape, 0x20))
                mstore(tape, size)
                mstore(0x40, add(add(tape, 0x20), size))
            }
        }
    }

    /// @dev A list of structs of `bytes_` each, behind their addresses.
    /// @return next place behind it
    /// @return list its address when it is laid down
    function _putList(uint256 place, uint256 count, uint256 bytes_, uint256 moved)
        private
        pure
        returns (uint256 next, uint256 list)
    {
        assembly ("memory-safe") {
            list := add(place, moved)
            mstore(place, count)
            next := add(place, shl(5, add(count, 1)))
            for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                place := add(place, 0x20)
                mstore(place, add(next, moved))
                next := add(next, bytes_)
            }
        }
    }

    /// @dev Sides with their tail: the bits of each, and their sum.
    function _putAxes(uint256 place, uint256[] memory axes, uint256 moved)
        private
        pure
        returns (uint256 next, uint256 own)
    {
        assembly ("memory-safe") {
            own := add(place, moved)
            let size := shl(5, add(shl(1, mload(axes)), 2))
            mcopy(place, axes, size)
            next := add(place, size)
        }
    }
}
