// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {FR_MODULUS} from "./Fr.sol";
import {Lookup} from "./Lookup.sol";
import {LIMB_BITS, Plan, PlacedTable} from "./Plan.sol";
import {ColumnPoint, PlanViews, SlotView} from "./PlanViews.sol";
import {
    Block,
    Expression,
    InputSlot,
    MaxSlot,
    Operand,
    Product,
    Program,
    SOURCE_ONE,
    SOURCE_WITNESS,
    TABLE_VALUES,
    Term
} from "./Program.sol";
import {MODULUS_AT, ProgramMemory} from "./ProgramMemory.sol";
import {ProgramReader} from "./ProgramReader.sol";
import {ProgramWeights} from "./ProgramWeights.sol";

/// An operator of phase A with the weights that its claim puts on its output.
struct ProductTerm {
    Product product;
    uint256 coefficient;
    /// Weights over items and axes of the expression.
    uint256 batch;
    uint256 factors;
    /// After phase A, at its end point: weights over the items and over the labels, for both operands.
    bool sharesBatch;
    uint256 atRhoBatch;
    uint256 labelFactors;
}

/// The claims of a proof in the making.
struct ClaimSet {
    Plan plan;
    Program program;
    /// By number of the claim: its power of lambda.
    uint256 powers;
    /// Number of the first claim about an output, and about an input; of those about taps and committed tables.
    uint256 firstOutput;
    uint256 firstInput;
    uint256 firstTap;
    uint256 committed;
    /// Sum of values times powers, less what everybody knows of the right side.
    uint256 total;
    /// eq of the chunk points with each chunk.
    uint256 witnessChunks;
    uint256 tableChunks;
    /// Witness slots at R: one view each, of the whole slot.
    SlotView[] atR;
    /// Outputs: weights over items and axes.
    SlotView[] outputs;
    /// The word point, and its number of coordinates.
    uint256 wordPoint;
    uint256 wordPointBits;
    /// R_t, and how many coordinates it has.
    uint256 tablePoint;
    uint256 tablePointBits;
    ProductTerm[] products;
    uint256 productCount;
}

/// @title The claims of a proof, their products, and what they ask of every column
/// @notice prover/plan/{claims,coefficients}.ts has the list of claims and their functionals. Functionals are never
/// kept: what is linear in the columns is evaluated where they are read, at the end point of phase O, and what is known
/// to everybody as soon as the claim is made. Both walk the same expressions in the same order.
library Claims {
    error ClaimMalformed();

    uint256 private constant HALF = (FR_MODULUS + 1) / 2;
    uint256 private constant REQUANT_SHIFT = 24;
    uint256 private constant MAX_TAPS = 4;

    /// @notice Everything but the public values: relation, columns, taps, committed tables, and constants of outputs.
    /// @param values offset of the values at r* in the call
    /// @param witnessPoint R and its number of coordinates, chunk point first; its last n are `point`
    function collect(
        ClaimSet memory set,
        SlotView[][] memory views,
        uint256 values,
        uint256 witnessPoint,
        uint256 witnessPointBits
    ) internal pure {
        unchecked {
            Plan memory plan = set.plan;
            {
                uint256 list = ProgramMemory.allocateList(plan.products);
                ProductTerm[] memory products;
                assembly ("memory-safe") {
                    products := list
                }
                set.products = products;
            }
            set.atR = _viewsAtR(set, views, witnessPoint, witnessPointBits);
            set.total = _columnValues(set, values);
            _relation(set);
            if (plan.hasMaxima) _taps(set);
            Program memory program = set.program;
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                _known(set, _power(set, set.firstOutput + i), program.outputs[i].expression, set.outputs[i]);
            }
        }
    }

    function _relation(ClaimSet memory set) private pure {
        unchecked {
            Program memory program = set.program;
            for (uint256 i = 0; i < program.requants.length; ++i) {
                SlotView memory own = set.atR[program.requants[i].slot];
                _known(set, own.selector, program.requants[i].expression, own);
            }
        }
    }

    function _taps(ClaimSet memory set) private pure {
        unchecked {
            Program memory program = set.program;
            for (uint256 tap = 0; tap < MAX_TAPS; ++tap) {
                for (uint256 i = 0; i < program.maxima.length; ++i) {
                    MaxSlot memory maximum = program.maxima[i];
                    SlotView memory own = set.atR[maximum.slot];
                    uint256 scale = mulmod(_power(set, set.firstTap + tap), own.selector, ProgramMemory.modulus());
                    _knownTerms(set, scale, maximum.taps[tap < maximum.taps.length ? tap : 0], own);
                }
            }
        }
    }

    /// @notice Numbers the claims and writes out the powers of lambda.
    function number(ClaimSet memory set, uint256 lambda) internal pure {
        unchecked {
            Plan memory plan = set.plan;
            // relation, y, r0, r1, gw, [gx, taps], m, gt, [committed], outputs, inputs
            uint256 count = 5;
            if (plan.hasMaxima) {
                set.firstTap = 6;
                count = 10;
            }
            count += 2;
            if (plan.hasValues) set.committed = count++;
            set.firstOutput = count;
            count += set.program.outputs.length;
            set.firstInput = count;
            count += set.program.inputs.length;
            uint256 powers;
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                powers := mload(0x40)
                let end := add(powers, mul(32, count))
                mstore(0x40, end)
                let power := 1
                for { let ptr := powers } lt(ptr, end) { ptr := add(ptr, 32) } {
                    mstore(ptr, power)
                    power := mulmod(power, lambda, r)
                }
            }
            set.powers = powers;
        }
    }

    function _power(ClaimSet memory set, uint256 claim) private pure returns (uint256) {
        unchecked {
            return ProgramMemory.word(set.powers, claim);
        }
    }

    /// @dev Every witness slot at R: selector over chunks and cells, weights inside.
    function _viewsAtR(ClaimSet memory set, SlotView[][] memory views, uint256 point, uint256 pointBits)
        private
        pure
        returns (SlotView[] memory atR)
    {
        unchecked {
            Plan memory plan = set.plan;
            uint256 count = views.length;
            uint256 list = ProgramMemory.allocateList(count);
            assembly ("memory-safe") {
                atR := list
            }
            for (uint256 slot = 0; slot < count; ++slot) {
                SlotView memory own = views[slot][0];
                uint256 bits = ProgramMemory.entry(plan.witnessBits, slot);
                uint256 view_;
                if (bits <= plan.n) {
                    // The coordinates inside the slot are those of r*.
                    uint256 selector = mulmod(own.selector, ProgramMemory.word(set.witnessChunks, own.column), ProgramMemory.modulus());
                    view_ = PlanViews.slotView(0, selector, own.batch, own.factors, own.inside);
                } else {
                    uint256 depth = pointBits - bits;
                    ColumnPoint memory whole = PlanViews.columnPoint(point, pointBits, 1);
                    uint256 selector = PlanViews.selector(whole, plan.witnessOffsets[slot], depth);
                    view_ = PlanViews.viewAt(
                        set.program.witness[slot], point + 32 * depth, plan.batchBits, plan.items, 0, selector
                    );
                }
                assembly ("memory-safe") {
                    list := add(list, 0x20)
                    mstore(list, view_)
                }
            }
        }
    }

    /// @dev Sum of the values of all claims but those about outputs and inputs.
    function _columnValues(ClaimSet memory set, uint256 values) private pure returns (uint256 total) {
        unchecked {
            Plan memory plan = set.plan;
            uint256 words = Lookup.wordsPerWitness(plan);
            uint256 y;
            uint256 r0;
            uint256 r1;
            uint256 q;
            for (uint256 c = 0; c < plan.witnessChunks; ++c) {
                uint256 eq = ProgramMemory.word(set.witnessChunks, c);
                y = addmod(y, mulmod(eq, ProgramMemory.callWord(values), ProgramMemory.modulus()), ProgramMemory.modulus());
                r0 = addmod(r0, mulmod(eq, ProgramMemory.callWord(values + 32), ProgramMemory.modulus()), ProgramMemory.modulus());
                r1 = addmod(r1, mulmod(eq, ProgramMemory.callWord(values + 64), ProgramMemory.modulus()), ProgramMemory.modulus());
                q = addmod(q, mulmod(eq, ProgramMemory.callWord(values + 96), ProgramMemory.modulus()), ProgramMemory.modulus());
                // gw, then gx and the taps.
                for (uint256 k = 4; k < words; ++k) {
                    total = addmod(total, mulmod(_power(set, k), mulmod(eq, ProgramMemory.callWord(values + 32 * k), ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
                }
                values += 32 * words;
            }
            uint256 relation = addmod(mulmod(1 << REQUANT_SHIFT, q, ProgramMemory.modulus()), addmod(r0, mulmod(1 << LIMB_BITS, r1, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
            total = addmod(total, relation, ProgramMemory.modulus());
            total = addmod(total, mulmod(_power(set, 1), y, ProgramMemory.modulus()), ProgramMemory.modulus());
            total = addmod(total, mulmod(_power(set, 2), r0, ProgramMemory.modulus()), ProgramMemory.modulus());
            total = addmod(total, mulmod(_power(set, 3), r1, ProgramMemory.modulus()), ProgramMemory.modulus());
            // m, gt, and the committed tables: the claims before the outputs.
            uint256 perTable = Lookup.wordsPerTable(plan);
            uint256 first = set.firstOutput - perTable;
            for (uint256 j = 0; j < plan.tableChunks; ++j) {
                uint256 eq = ProgramMemory.word(set.tableChunks, j);
                for (uint256 k = 0; k < perTable; ++k) {
                    total = addmod(total, mulmod(_power(set, first + k), mulmod(eq, ProgramMemory.callWord(values + 32 * k), ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
                }
                values += 32 * perTable;
            }
        }
    }

    /// @dev Takes from the total what everybody knows of an expression, and notes its products.
    function _known(ClaimSet memory set, uint256 scale, Expression memory expression, SlotView memory own) private pure {
        unchecked {
            _knownTerms(set, scale, expression.linear, own);
            Product[] memory products = expression.products;
            for (uint256 i = 0; i < products.length; ++i) {
                Product memory product = products[i];
                set.products[set.productCount++] = ProductTerm(
                    product,
                    mulmod(scale, product.coefficient, ProgramMemory.modulus()),
                    own.batch,
                    own.factors,
                    product.p.batched && product.q.batched,
                    0,
                    0
                );
            }
        }
    }

    function _knownTerms(ClaimSet memory set, uint256 scale, Term[] memory terms, SlotView memory own) private pure {
        unchecked {
            uint256 constants = _constants(terms, own.batch, own.factors);
            set.total = addmod(set.total, ProgramMemory.modulus() - mulmod(scale, constants, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @dev Of a term that is there.
    function _sourceOf(Term[] memory terms, uint256 index) private pure returns (uint256 source) {
        assembly ("memory-safe") {
            source := mload(add(mload(add(add(terms, 0x20), shl(5, index))), 0x20))
        }
    }

    /// @dev Sum of the terms whose source is the constant 1, under weights.
    function _constants(Term[] memory terms, uint256 batch, uint256 factors) private pure returns (uint256 sum) {
        unchecked {
            uint256 count = terms.length;
            for (uint256 i = 0; i < count; ++i) {
                if (_sourceOf(terms, i) != SOURCE_ONE) continue;
                Term memory term = terms[i];
                uint256 value = mulmod(term.coefficient, ProgramWeights.evaluateView(factors, term.blocks, 0), ProgramMemory.modulus());
                if (batch != 0) value = mulmod(value, ProgramWeights.sumOf(batch), ProgramMemory.modulus());
                sum = addmod(sum, value, ProgramMemory.modulus());
            }
        }
    }

    /// @notice The end of phase A.
    /// @param point of phase A, `plan.variables` coordinates
    /// @param operands offset of P_k, Q_k in the call, all below r
    /// @param gamma drawn after the operands
    /// @return total sum_k 2^-(m - m_k) c_k E_k P_k Q_k
    /// @return claim sum over all operands of gamma^i times what of them is linear in the columns
    function finishProducts(ClaimSet memory set, uint256 point, uint256 operands, uint256 gamma)
        internal
        pure
        returns (uint256 total, uint256 claim)
    {
        unchecked {
            Plan memory plan = set.plan;
            uint256 power = 1;
            for (uint256 k = 0; k < set.productCount; ++k) {
                ProductTerm memory term = set.products[k];
                uint256 weight = _bind(plan, term, point);
                uint256 p = ProgramMemory.callWord(operands + 64 * k);
                uint256 q = ProgramMemory.callWord(operands + 64 * k + 32);
                total = addmod(total, mulmod(weight, mulmod(p, q, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
                power = mulmod(power, gamma, ProgramMemory.modulus());
                uint256 known = _constants(term.product.p.terms, _batchOf(term, term.product.p), term.labelFactors);
                claim = addmod(claim, mulmod(power, addmod(p, ProgramMemory.modulus() - known, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
                power = mulmod(power, gamma, ProgramMemory.modulus());
                known = _constants(term.product.q.terms, _batchOf(term, term.product.q), term.labelFactors);
                claim = addmod(claim, mulmod(power, addmod(q, ProgramMemory.modulus() - known, ProgramMemory.modulus()), ProgramMemory.modulus()), ProgramMemory.modulus());
            }
        }
    }

    /// @dev The weight over the items under which an operand is read; 0 where it has none.
    function _batchOf(ProductTerm memory term, Operand memory operand) private pure returns (uint256) {
        unchecked {
            if (!operand.batched) return 0;
            return term.sharesBatch ? term.atRhoBatch : term.batch;
        }
    }

    /// @dev Splits the end point among the labels that the product binds, makes the weights of its operands, and returns
    /// the weight of P Q: 2^-(m - m_k) c_k E_k.
    function _bind(Plan memory plan, ProductTerm memory term, uint256 point) private pure returns (uint256 weight) {
        unchecked {
            Product memory product = term.product;
            (uint256 coefficient, uint256 pushed) =
                ProgramWeights.pushToLabels(term.factors, product.blocks, product.labels);
            weight = mulmod(term.coefficient, coefficient, ProgramMemory.modulus());

            uint256 bound = product.p.labels & product.q.labels;
            uint256 shared = bound & product.outputLabels;
            uint256 variables = _bitsOf(product.labels, bound) + (term.sharesBatch ? plan.batchBits : 0);
            for (uint256 j = plan.variables - variables; j > 0; --j) {
                weight = mulmod(weight, HALF, ProgramMemory.modulus());
            }
            // Item bits, then shared labels, then contracted ones.
            uint256 rho = point + 32 * (plan.variables - variables);
            if (term.sharesBatch && plan.batchBits > 0) {
                term.atRhoBatch = ProgramWeights.eqWeight(rho, plan.batchBits, plan.items);
                weight = mulmod(weight, ProgramWeights.pairWeights(term.batch, term.atRhoBatch), ProgramMemory.modulus());
                rho += 32 * plan.batchBits;
            }
            uint256 atRho = ProgramMemory.allocateZeros(product.labels.length);
            rho = _labelWeights(atRho, product.labels, shared, rho);
            _labelWeights(atRho, product.labels, bound & ~shared, rho);
            weight = mulmod(weight, _sharedWeight(product.blocks, pushed, atRho, shared), ProgramMemory.modulus());

            // Operands are read under eq(rho, .) on the labels of both, and under the output's weights on their own.
            for (uint256 label = 0; label < product.labels.length; ++label) {
                if ((bound >> label) & 1 == 0) continue;
                assembly ("memory-safe") {
                    mstore(add(pushed, mul(32, label)), mload(add(atRho, mul(32, label))))
                }
            }
            term.labelFactors = pushed;
        }
    }

    function _bitsOf(uint256[] memory labels, uint256 set) private pure returns (uint256 total) {
        unchecked {
            uint256 count = labels.length;
            for (uint256 label = 0; label < count; ++label) {
                if ((set >> label) & 1 == 0) continue;
                assembly ("memory-safe") {
                    total := add(total, mload(add(labels, mul(32, add(add(count, label), 1)))))
                }
            }
        }
    }

    /// @dev eq(rho, .) for each label of a set, in rising order.
    function _labelWeights(uint256 atRho, uint256[] memory labels, uint256 set, uint256 rho)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 count = labels.length;
            for (uint256 label = 0; label < count; ++label) {
                if ((set >> label) & 1 == 0) continue;
                uint256 bits;
                assembly ("memory-safe") {
                    bits := mload(add(labels, mul(32, add(add(count, label), 1))))
                }
                if (bits == 0) continue;
                uint256 weight = ProgramWeights.eqWeight(rho, bits, labels[label]);
                assembly ("memory-safe") {
                    mstore(add(atRho, mul(32, label)), weight)
                }
                rho += 32 * bits;
            }
            return rho;
        }
    }

    /// @dev E_k without the items: the output's weights on the shared labels, at rho.
    function _sharedWeight(Block[] memory blocks, uint256 pushed, uint256 atRho, uint256 shared)
        private
        pure
        returns (uint256 weight)
    {
        unchecked {
            weight = 1;
            for (uint256 i = 0; i < blocks.length; ++i) {
                Block memory own = blocks[i];
                uint256 count = own.sourceCount;
                if (count == 0 || (shared >> (own.sourceAxes & 0xff)) & 1 == 0) continue;
                uint256 value;
                uint256 first = ProgramMemory.word(pushed, own.sourceAxes & 0xff);
                if (count == 1) {
                    value = ProgramWeights.pairWeights(first, ProgramMemory.word(atRho, own.sourceAxes));
                } else {
                    uint256 eq = ProgramWeights.combined(atRho, own.sourceAxes, count, own.sourceSize);
                    value = ProgramWeights.dot(ProgramWeights.valuesOf(first), eq, own.sourceSize);
                }
                weight = mulmod(weight, value, ProgramMemory.modulus());
            }
        }
    }

    /// @notice The coefficient of every column at the end point u of phase O: y, r0, r1, m, gw, [gx,] gt, model.
    /// @param u n coordinates
    /// @param point the last n coordinates of R and of R_t
    function coefficients(ClaimSet memory set, uint256 u, uint256 point, uint256 gamma)
        internal
        pure
        returns (uint256 columns)
    {
        unchecked {
            Plan memory plan = set.plan;
            {
                uint256 count = plan.columns;
                assembly ("memory-safe") {
                    columns := mload(0x40)
                    mstore(0x40, add(columns, mul(32, count)))
                    calldatacopy(columns, calldatasize(), mul(32, count))
                }
            }
            _columnFunctionals(set, columns, ProgramWeights.pair(point, u, plan.n, 1 << plan.n));

            Sources memory sources = _sourcesAt(set, columns, u);
            _directTerms(set, sources);
            _inputs(set, sources);
            uint256 power = 1;
            for (uint256 k = 0; k < set.productCount; ++k) {
                ProductTerm memory term = set.products[k];
                power = mulmod(power, gamma, ProgramMemory.modulus());
                _linear(sources, power, term.product.p.terms, _batchOf(term, term.product.p), term.labelFactors);
                power = mulmod(power, gamma, ProgramMemory.modulus());
                _linear(sources, power, term.product.q.terms, _batchOf(term, term.product.q), term.labelFactors);
            }
        }
    }

    /// All slots from u, and where the coefficients of their columns are summed.
    struct Sources {
        SlotView[][] witness;
        SlotView[][] model;
        uint256 witnessColumns;
        uint256 modelColumns;
    }

    function _sourcesAt(ClaimSet memory set, uint256 columns, uint256 u) private pure returns (Sources memory sources) {
        unchecked {
            Plan memory plan = set.plan;
            Program memory program = set.program;
            sources.witnessColumns = columns;
            sources.modelColumns = columns + 32 * plan.proofColumns;
            ColumnPoint memory here = PlanViews.columnPoint(u, plan.n, 1);
            sources.witness = PlanViews.allViews(
                here, program.witness, plan.witnessOffsets, plan.witnessBits, plan.batchBits, plan.items
            );
            // A model column is the part of a larger one whose leading bits are 0.
            uint256 unused = PlanViews.selector(here, 0, plan.n - program.modelBits);
            here = PlanViews.columnPoint(u + 32 * (plan.n - program.modelBits), program.modelBits, unused);
            sources.model = PlanViews.allViews(here, program.model, plan.modelOffsets, plan.modelBits, 0, 1);
        }
    }

    /// @dev eq(R, .) and eq(R_t, .) on whole families.
    function _columnFunctionals(ClaimSet memory set, uint256 columns, uint256 eq) private pure {
        unchecked {
            Plan memory plan = set.plan;
            uint256 witness = plan.witnessChunks;
            uint256 tables = plan.tableChunks;
            uint256 ptr = _spread(columns, mulmod(eq, _power(set, 1), ProgramMemory.modulus()), set.witnessChunks, witness);
            ptr = _spread(ptr, mulmod(eq, _power(set, 2), ProgramMemory.modulus()), set.witnessChunks, witness);
            ptr = _spread(ptr, mulmod(eq, _power(set, 3), ProgramMemory.modulus()), set.witnessChunks, witness);
            uint256 m = set.firstOutput - Lookup.wordsPerTable(plan);
            ptr = _spread(ptr, mulmod(eq, _power(set, m), ProgramMemory.modulus()), set.tableChunks, tables);
            ptr = _spread(ptr, mulmod(eq, _power(set, 4), ProgramMemory.modulus()), set.witnessChunks, witness);
            if (plan.hasMaxima) ptr = _spread(ptr, mulmod(eq, _power(set, 5), ProgramMemory.modulus()), set.witnessChunks, witness);
            _spread(ptr, mulmod(eq, _power(set, m + 1), ProgramMemory.modulus()), set.tableChunks, tables);
        }
    }

    function _spread(uint256 columns, uint256 value, uint256 chunkWeights, uint256 chunks)
        private
        pure
        returns (uint256)
    {
        unchecked {
            for (uint256 c = 0; c < chunks; ++c) {
                uint256 share = mulmod(value, ProgramMemory.word(chunkWeights, c), ProgramMemory.modulus());
                assembly ("memory-safe") {
                    mstore(columns, share)
                    columns := add(columns, 32)
                }
            }
            return columns;
        }
    }

    /// @dev Relation, taps, committed tables and outputs: what of them is linear in the columns.
    function _directTerms(ClaimSet memory set, Sources memory sources) private pure {
        unchecked {
            Program memory program = set.program;
            for (uint256 i = 0; i < program.requants.length; ++i) {
                SlotView memory own = set.atR[program.requants[i].slot];
                _linear(sources, own.selector, program.requants[i].expression.linear, own.batch, own.factors);
            }
            if (set.plan.hasMaxima) {
                for (uint256 tap = 0; tap < MAX_TAPS; ++tap) {
                    uint256 power = _power(set, set.firstTap + tap);
                    for (uint256 i = 0; i < program.maxima.length; ++i) {
                        MaxSlot memory maximum = program.maxima[i];
                        SlotView memory own = set.atR[maximum.slot];
                        Term[] memory terms = maximum.taps[tap < maximum.taps.length ? tap : 0];
                        _linear(sources, mulmod(power, own.selector, ProgramMemory.modulus()), terms, own.batch, own.factors);
                    }
                }
            }
            if (set.plan.hasValues) _committedTables(set, sources);
            for (uint256 i = 0; i < program.outputs.length; ++i) {
                SlotView memory own = set.outputs[i];
                uint256 power = _power(set, set.firstOutput + i);
                _linear(sources, power, program.outputs[i].expression.linear, own.batch, own.factors);
            }
        }
    }

    /// @dev Adds to the columns what the linear terms put on them.
    function _linear(Sources memory sources, uint256 scale, Term[] memory terms, uint256 batch, uint256 factors)
        private
        pure
    {
        unchecked {
            uint256 count = terms.length;
            for (uint256 i = 0; i < count; ++i) {
                if (_sourceOf(terms, i) == SOURCE_ONE) continue;
                Term memory term = terms[i];
                uint256 coefficient = mulmod(scale, term.coefficient, ProgramMemory.modulus());
                if (term.source == SOURCE_WITNESS) {
                    SlotView[] memory views = PlanViews.viewsOf(sources.witness, term.slot);
                    for (uint256 k = 0; k < views.length; ++k) {
                        SlotView memory own = views[k];
                        uint256 value = mulmod(coefficient, own.selector, ProgramMemory.modulus());
                        if (batch != 0) value = mulmod(value, ProgramWeights.pairWeights(batch, own.batch), ProgramMemory.modulus());
                        _add(sources.witnessColumns, own, value, term.blocks, factors);
                    }
                } else {
                    // The same for every item.
                    if (batch != 0) coefficient = mulmod(coefficient, ProgramWeights.sumOf(batch), ProgramMemory.modulus());
                    SlotView[] memory views = PlanViews.viewsOf(sources.model, term.slot);
                    for (uint256 k = 0; k < views.length; ++k) {
                        SlotView memory own = views[k];
                        uint256 value = mulmod(coefficient, own.selector, ProgramMemory.modulus());
                        _add(sources.modelColumns, own, value, term.blocks, factors);
                    }
                }
            }
        }
    }

    function _add(uint256 columns, SlotView memory own, uint256 scale, Block[] memory blocks, uint256 factors)
        private
        pure
    {
        unchecked {
            uint256 value = mulmod(scale, ProgramWeights.evaluateView(factors, blocks, own.factors), ProgramMemory.modulus());
            _addTo(columns, own.column, value);
        }
    }

    function _addTo(uint256 columns, uint256 column, uint256 value) private pure {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            let ptr := add(columns, mul(32, column))
            mstore(ptr, addmod(mload(ptr), value, r))
        }
    }

    /// @dev The committed values of tables at R_t: eq on the rows of each.
    function _committedTables(ClaimSet memory set, Sources memory sources) private pure {
        unchecked {
            ColumnPoint memory whole = PlanViews.columnPoint(set.tablePoint, set.tablePointBits, 1);
            uint256 power = _power(set, set.committed);
            for (uint256 i = 0; i < set.plan.tables.length; ++i) {
                PlacedTable memory table = set.plan.tables[i];
                if (table.kind != TABLE_VALUES) continue;
                uint256 bits = ProgramReader.bitsOf(table.rows);
                uint256 depth = set.tablePointBits - bits;
                uint256 scale = mulmod(power, PlanViews.selector(whole, table.offset, depth), ProgramMemory.modulus());
                uint256 inside = set.tablePoint + 32 * depth;
                SlotView[] memory views = PlanViews.viewsOf(sources.model, table.slot);
                for (uint256 k = 0; k < views.length; ++k) {
                    uint256 value = mulmod(scale, views[k].selector, ProgramMemory.modulus());
                    if (bits > 0) {
                        uint256 weight = ProgramWeights.eqWeight(inside, bits, table.rows);
                        value = mulmod(
                            value, ProgramWeights.pairWeights(weight, ProgramMemory.load(views[k].factors)), ProgramMemory.modulus()
                        );
                    }
                    _addTo(sources.modelColumns, views[k].column, value);
                }
            }
        }
    }

    /// @notice Weights of the packed words over the cells of an input, one pair (for bit 0 and for bit 1) for each index
    /// bit of items and axes, and the number of coordinates that choose a word; prover/plan/inputs.ts.
    function packedWeights(ClaimSet memory set, uint256 index)
        internal
        pure
        returns (uint256 pairs, uint256 indexBits)
    {
        unchecked {
            InputSlot memory input = set.program.inputs[index];
            uint256 bits = set.plan.witnessBits[input.slot];
            indexBits = wordIndexBits(set.plan, set.program, index);
            uint256 cellBits = input.cellBits;
            uint256 word = set.wordPoint + 32 * (set.wordPointBits - indexBits);
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                pairs := mload(0x40)
                mstore(0x40, add(pairs, mul(64, bits)))
                let ptr := pairs
                for { let j := 0 } lt(j, bits) { j := add(j, 1) } {
                    switch lt(j, indexBits)
                    case 1 {
                        let x := mload(add(word, mul(32, j)))
                        mstore(ptr, addmod(1, sub(r, x), r))
                        mstore(add(ptr, 32), x)
                    }
                    default {
                        mstore(ptr, 1)
                        // 2^(cellBits 2^k) for bit k of the place in the word: at most 2^64.
                        mstore(add(ptr, 32), shl(shl(sub(sub(bits, 1), j), cellBits), 1))
                    }
                    ptr := add(ptr, 64)
                }
            }
        }
    }

    /// @notice Bits of a word's number over the batch.
    function wordIndexBits(Plan memory plan, Program memory program, uint256 index) internal pure returns (uint256) {
        unchecked {
            InputSlot memory input = program.inputs[index];
            uint256 inWord = input.cellBits == 8 ? 4 : 3;
            uint256 bits = plan.witnessBits[input.slot];
            uint256 ofItem = bits - plan.batchBits;
            return bits - (inWord < ofItem ? inWord : ofItem);
        }
    }

    /// @notice Sum over items and indices of a slot of prod over bits of the pair's element, times eq(u, .) where there is
    /// a u.
    /// @param u coordinates inside the slot; 0 for the sum of the weights alone
    function maskedProduct(uint256 pairs, uint256 u, uint256[] memory axes, uint256 batchBits, uint256 items)
        internal
        pure
        returns (uint256 product)
    {
        unchecked {
            product = _maskedAxis(pairs, u, batchBits, items);
            pairs += 64 * batchBits;
            if (u != 0) u += 32 * batchBits;
            uint256 count = axes.length;
            for (uint256 axis = 0; axis < count; ++axis) {
                uint256 bits;
                assembly ("memory-safe") {
                    bits := mload(add(axes, mul(32, add(add(count, axis), 1))))
                }
                product = mulmod(product, _maskedAxis(pairs, u, bits, axes[axis]), ProgramMemory.modulus());
                pairs += 64 * bits;
                if (u != 0) u += 32 * bits;
            }
        }
    }

    function _maskedAxis(uint256 pairs, uint256 u, uint256 bits, uint256 side) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(MODULUS_AT)
            // Over the last k bits: everything, and what lies below the last k bits of `side`.
            let whole := 1
            let isWhole := eq(side, shl(bits, 1))
            for { let k := 0 } lt(k, bits) { k := add(k, 1) } {
                let place := sub(sub(bits, 1), k)
                let zero := mload(add(pairs, mul(64, place)))
                let one := mload(add(pairs, add(mul(64, place), 32)))
                if u {
                    let x := mload(add(u, mul(32, place)))
                    zero := mulmod(zero, sub(add(r, 1), x), r)
                    one := mulmod(one, x, r)
                }
                switch and(shr(k, side), 1)
                case 1 { sum := addmod(mulmod(zero, whole, r), mulmod(one, sum, r), r) }
                default { sum := mulmod(zero, sum, r) }
                whole := mulmod(whole, addmod(zero, one, r), r)
            }
            if isWhole { sum := whole }
        }
    }

    /// @notice Sum of the elements of an output under the weights of its claim.
    /// @param published 4 bytes each in two's complement, item-major
    function outputSum(ClaimSet memory set, uint256 index, bytes memory published)
        internal
        pure
        returns (uint256 sum)
    {
        unchecked {
            (uint256 weights, uint256 length) = PlanViews.writtenOut(
                set.outputs[index], set.program.outputs[index].expression.axes, set.plan.items
            );
            if (4 * length != published.length) revert ClaimMalformed();
            assembly ("memory-safe") {
                let r := mload(MODULUS_AT)
                let elements := add(published, 0x20)
                for { let end := add(weights, mul(32, length)) } lt(weights, end) { weights := add(weights, 32) } {
                    // As r + v where v is negative: the sign's word would be another number mod r.
                    let v := sar(224, mload(elements))
                    v := add(v, mul(r, slt(v, 0)))
                    sum := addmod(sum, mulmod(mload(weights), v, r), r)
                    elements := add(elements, 4)
                }
            }
        }
    }

    /// @notice Adds the claim about an input: the packed words at r_e, which hold x - lo.
    /// @param words sum over the words of eq(r_e, number) word
    function addInput(ClaimSet memory set, uint256 index, uint256 words) internal pure {
        unchecked {
            Program memory program = set.program;
            InputSlot memory input = program.inputs[index];
            (uint256 pairs,) = packedWeights(set, index);
            uint256 ones = maskedProduct(pairs, 0, program.witness[input.slot], set.plan.batchBits, set.plan.items);
            int256 lo = program.tables[input.table].lo;
            uint256 value = addmod(words, mulmod(lo < 0 ? ProgramMemory.modulus() - uint256(-lo) : uint256(lo), ones, ProgramMemory.modulus()), ProgramMemory.modulus());
            set.total = addmod(set.total, mulmod(_power(set, set.firstInput + index), value, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    /// @notice Adds the claim about an output: its values under the weights of the claim.
    function addOutput(ClaimSet memory set, uint256 index, uint256 value) internal pure {
        unchecked {
            set.total = addmod(set.total, mulmod(_power(set, set.firstOutput + index), value, ProgramMemory.modulus()), ProgramMemory.modulus());
        }
    }

    function _inputs(ClaimSet memory set, Sources memory sources) private pure {
        unchecked {
            Program memory program = set.program;
            Plan memory plan = set.plan;
            for (uint256 i = 0; i < program.inputs.length; ++i) {
                uint256 slot = program.inputs[i].slot;
                (uint256 pairs,) = packedWeights(set, i);
                uint256 power = _power(set, set.firstInput + i);
                SlotView[] memory views = sources.witness[slot];
                for (uint256 k = 0; k < views.length; ++k) {
                    uint256 value =
                        maskedProduct(pairs, views[k].inside, program.witness[slot], plan.batchBits, plan.items);
                    value = mulmod(mulmod(power, views[k].selector, ProgramMemory.modulus()), value, ProgramMemory.modulus());
                    _addTo(sources.witnessColumns, views[k].column, value);
                }
            }
        }
    }

}
