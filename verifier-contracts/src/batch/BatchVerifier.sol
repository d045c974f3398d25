// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {IProofVerifier, ProvedClaim} from "../IProofVerifier.sol";
import {FR_MODULUS, ScalarNotCanonical} from "../direct/Fr.sol";
import {FQ_MODULUS, G1} from "../direct/G1.sol";
import {Mercury} from "../direct/Mercury.sol";
import {ModelDigest} from "../direct/ModelDigest.sol";
import {ProgramMemory} from "../direct/ProgramMemory.sol";
import {Srs} from "../direct/Srs.sol";
import {Transcript} from "../direct/Transcript.sol";
import {BatchOutputs} from "./BatchOutputs.sol";
import {BatchRecord, Group, Record} from "./BatchRecord.sol";

/// @title Checks a recursive batch proof: many receipts, one joint proof, wrapped in Groth16
/// @notice circuits/batch/verify-batch.ts is the same in TypeScript; docs/protocol.md, "Recursive batches", says why.
///
///   evidence -> x, with models' digests recomputed from the record's programs
///   seed = keccak("assay/batch/1" | chain id | this | key hash | srsId | c | keccak(contexts) | x),  rho = seed mod r
///   E = sum rho^i x_i;  Groth16(c, E, rho);  Mercury on sum e_c C_c at u, seeded with seed;  one pairing for both
///
/// The circuit has checked a proof about x' with the same c = Poseidon(x') and E: so x' = x. What verify() returns is
/// proved: the model with that digest, applied to inputs under the Poseidon commitment `inputRoot`, gives the outputs under
/// `outputRoot`; contexts are the orders that the proof was made for.
///
/// Evidence, packed without gaps, big endian:
///   uint8 record | c 32 | A 64 | B 128 | C 64
///   | per group: uint16 receipts that count | graph root 32 | weights root 32 | uint32 opCount | model commitments 64 each
///     | per receipt that counts: context 32 | input commitment 32 | published integers, int32 each
///     | per other receipt: input commitment 32 | output words 32 each
///   | commitments of the proof 64 each | e_c 32 each | u 32 each | v* 32 | Mercury 704
/// @dev Records are fixed by the constructor; whoever deploys answers for it that each is of the key of the circuit that its
/// groups describe, which anybody can check by making the circuit again. No number in the evidence but those of receipts
/// that count says how many of anything there are.
contract BatchVerifier is IProofVerifier, Srs {
    /// @notice A record names no key that proofs can be believed under: delta equals gamma, which is H; or alpha or beta is a
    /// generator; or a point is none of its group.
    error KeyInvalid(uint256 record);
    /// @notice The secrets of the development set-up are public: anybody can forge proofs under it.
    error KeyDevelopment(uint256 record);
    /// @notice A record is cut, has bytes left over, or names no group.
    error RecordInvalid(uint256 record);
    /// @notice There is no record of that number.
    error RecordUnknown(uint256 record);
    /// @notice More receipts are to count than the circuit has room for, or none.
    error ReceiptsOutOfRange(uint256 group, uint256 receipts);
    /// @notice The evidence is longer or shorter than its record asks for.
    error EvidenceLength(uint256 found, uint256 expected);
    /// @notice Groth16 or the opening does not hold.
    error ProofInvalid();

    uint256 private constant PAIRING = 0x08;
    uint256 private constant EC_ADD = 0x06;
    uint256 private constant EC_MUL = 0x07;
    uint256 private constant LIMB_MASK = (1 << 128) - 1;
    uint256 private constant DEVELOPMENT_CHAIN = 31337;
    /// alpha of the development set-up, circuits/setup/secrets.ts.
    uint256 private constant DEVELOPMENT_ALPHA_X = 0xd5b2c9846aa4cac99541d94b98576653b455da12ffddd91698319ff4549e7a6;
    /// "assay/batch/1" and its length.
    uint256 private constant SEED_TAG = 0x61737361792f62617463682f31;
    uint256 private constant SEED_TAG_BYTES = 13;
    /// Words of the seed's preimage before x.
    uint256 private constant SEED_WORDS = 6;
    /// Above the words that ProgramMemory keeps.
    uint256 private constant FIRST_FREE = 0x1800;
    uint256 private constant MERCURY_BYTES = 704;
    /// In a key: delta, and the points of the constant and the public signals.
    uint256 private constant KEY_DELTA_AT = 192;
    uint256 private constant KEY_POINTS_AT = 320;
    uint256 private constant GROUPS_AT = 1 + 32 + 256;
    uint256 private constant GROUP_HEAD_BYTES = 70;

    address[] private _records;

    /// Where things are while a batch is checked. Offsets of the call, addresses of memory.
    struct Walk {
        /// Next byte of the evidence.
        uint256 offset;
        /// Next word of x.
        uint256 x;
        /// First word of x.
        uint256 first;
        /// Next context, and the first.
        uint256 context;
        uint256 contexts;
        /// Claims so far.
        uint256 claims;
    }

    /// @param tauG1 x, y
    /// @param tauH x.c1, x.c0, y.c1, y.c0
    /// @param records BatchRecord's bytes
    constructor(uint256[2] memory tauG1, uint256[4] memory tauH, bytes[] memory records) Srs(tauG1, tauH) {
        for (uint256 i = 0; i < records.length; ++i) {
            _requireKey(records[i], i);
            _records.push(BatchRecord.keep(records[i]));
        }
    }

    /// @notice Number of records.
    function recordCount() external view returns (uint256) {
        return _records.length;
    }

    /// @notice A record's bytes: the key, n, and the programs that its circuit checks.
    function recordAt(uint256 index) external view returns (bytes memory record) {
        if (index >= _records.length) revert RecordUnknown(index);
        record = _records[index].code;
        // Without the STOP.
        assembly ("memory-safe") {
            let size := sub(mload(record), 1)
            mcopy(add(record, 0x20), add(record, 0x21), size)
            mstore(record, size)
        }
    }

    /// @notice Reverts with the name of the check that fails.
    function verify(bytes calldata evidence) external view override returns (ProvedClaim[] memory claims) {
        _keepMemory();
        uint256 start;
        assembly ("memory-safe") {
            start := evidence.offset
        }
        uint256 index = ProgramMemory.callWord(start) >> 248;
        if (evidence.length == 0 || index >= _records.length) revert RecordUnknown(index);
        Record memory record = BatchRecord.load(_records[index]);

        Walk memory walk = _begin(record, start, evidence.length);
        claims = new ProvedClaim[](walk.claims);
        uint256[] memory models = new uint256[](record.groups.length);
        walk.offset = start + GROUPS_AT;
        walk.claims = 0;
        for (uint256 g = 0; g < models.length; ++g) {
            models[g] = walk.offset + GROUP_HEAD_BYTES;
            _readGroup(walk, record.groups[g], claims);
        }
        _open(record, walk, models, start, _readColumns(walk, record));
    }

    /// @dev Assembly: the free pointer above the words that the libraries of the direct verifier keep.
    function _keepMemory() private pure {
        assembly ("memory-safe") {
            if lt(mload(0x40), FIRST_FREE) { mstore(0x40, FIRST_FREE) }
        }
        ProgramMemory.keepModulus();
    }

    /// @notice Counts, and lays out x and contexts. Reverts unless the evidence has the length that record and counts ask for.
    /// @return walk with the number of claims
    function _begin(Record memory record, uint256 start, uint256 length) private pure returns (Walk memory walk) {
        unchecked {
            // e_c, u and v*: those of the models are added below.
            uint256 scalars = record.proofColumns + record.n + 1;
            uint256 words = 4 * record.proofColumns;
            uint256 offset = start + GROUPS_AT;
            for (uint256 g = 0; g < record.groups.length; ++g) {
                Group memory group = record.groups[g];
                uint256 counting = ProgramMemory.callWord(offset) >> 240;
                if (counting == 0 || counting > group.receipts) revert ReceiptsOutOfRange(g, counting);
                words += 2 + group.receipts * (1 + group.words);
                scalars += group.columns;
                offset += GROUP_HEAD_BYTES + 64 * group.columns + counting * (64 + 4 * group.integers)
                    + (group.receipts - counting) * 32 * (1 + group.words);
                walk.claims += counting;
            }
            words += scalars;
            offset += 64 * record.proofColumns + 32 * scalars + MERCURY_BYTES;
            if (offset - start != length) revert EvidenceLength(length, offset - start);
            _layOut(walk, words);
        }
    }

    /// @dev The preimage of the seed: a word that ends in the tag | words | x; contexts behind it.
    function _layOut(Walk memory walk, uint256 words) private pure {
        assembly ("memory-safe") {
            let free := mload(0x40)
            let first := add(free, mul(0x20, add(SEED_WORDS, 1)))
            mstore(add(walk, 0x20), first)
            mstore(add(walk, 0x40), first)
            let contexts := add(first, shl(5, words))
            mstore(add(walk, 0x60), contexts)
            mstore(add(walk, 0x80), contexts)
            mstore(0x40, add(contexts, shl(5, mload(add(walk, 0xa0)))))
        }
    }

    function _readGroup(Walk memory walk, Group memory group, ProvedClaim[] memory claims) private view {
        unchecked {
            uint256 offset = walk.offset;
            uint256 counting = ProgramMemory.callWord(offset) >> 240;
            bytes32 digest = ModelDigest.digest(
                bytes32(ProgramMemory.callWord(offset + 2)),
                bytes32(ProgramMemory.callWord(offset + 34)),
                ProgramMemory.callWord(offset + 66) >> 224,
                ModelDigest.keyHash(srsId, group.programHash, offset + GROUP_HEAD_BYTES, group.columns)
            );
            offset += GROUP_HEAD_BYTES + 64 * group.columns;
            uint256 x = walk.x;
            ProgramMemory.store(x, uint256(digest) >> 128);
            ProgramMemory.store(x + 0x20, uint256(digest) & LIMB_MASK);
            x += 0x40;
            uint256 integers = group.integers;
            uint256 words = group.words;
            uint256 first = walk.claims;
            walk.claims = first + counting;
            uint256 context = walk.context;
            walk.context = context + (counting << 5);
            for (uint256 r = 0; r < counting; ++r) {
                ProvedClaim memory claim = claims[first + r];
                bytes32 word = bytes32(ProgramMemory.callWord(offset));
                claim.context = word;
                ProgramMemory.store(context, uint256(word));
                context += 0x20;
                word = bytes32(_scalar(offset + 0x20));
                claim.inputRoot = word;
                ProgramMemory.store(x, uint256(word));
                claim.modelDigest = digest;
                claim.items = uint32(group.itemsPerReceipt);
                offset += 0x40;
                BatchOutputs.pack(offset, integers, x + 0x20);
                claim.outputRoot = BatchOutputs.rootOf(group.outputs, offset);
                x += 0x20 + (words << 5);
                offset += integers << 2;
            }
            uint256 rest = (group.receipts - counting) * (1 + words);
            _copyScalars(offset, rest, x);
            walk.x = x + (rest << 5);
            walk.offset = offset + (rest << 5);
        }
    }

    /// @notice Limbs of the proof's commitments, then all scalars.
    /// @return columns offset of the proof's commitments
    function _readColumns(Walk memory walk, Record memory record) private pure returns (uint256 columns) {
        columns = walk.offset;
        uint256 end = columns + 64 * record.proofColumns;
        uint256 x = walk.x;
        for (uint256 offset = columns; offset < end; offset += 0x20) {
            uint256 coordinate = ProgramMemory.callWord(offset);
            ProgramMemory.store(x, coordinate & LIMB_MASK);
            ProgramMemory.store(x + 0x20, coordinate >> 128);
            x += 0x40;
        }
        // What is left of x.
        uint256 scalars = (walk.contexts - x) >> 5;
        _copyScalars(end, scalars, x);
        walk.x = x;
        walk.offset = end + 0x20 * scalars;
    }

    /// @dev Joins circuit, commitments and opening.
    /// @param models offsets of the commitments of each group's model
    /// @param columns offset of the proof's commitments
    function _open(
        Record memory record,
        Walk memory walk,
        uint256[] memory models,
        uint256 start,
        uint256 columns
    ) private view {
        uint256 c = _scalar(start + 1);
        uint256 seed = _seed(record, walk, c);
        uint256 rho = seed % FR_MODULUS;
        uint256 coefficients = walk.x;
        G1.Point memory combined = G1.Point(0, 0);
        G1.addCombination(combined, columns, record.proofColumns, coefficients);
        coefficients += 0x20 * record.proofColumns;
        for (uint256 g = 0; g < models.length; ++g) {
            Group memory group = record.groups[g];
            G1.addCombination(combined, models[g], group.columns, coefficients);
            coefficients += 0x20 * group.columns;
        }
        (G1.Point memory left, G1.Point memory right) = Mercury.reduce(
            Transcript.absorbWord(Transcript.start(), seed),
            srsId,
            record.n,
            combined,
            coefficients,
            ProgramMemory.load(coefficients + 0x20 * record.n),
            walk.offset
        );
        G1.Point memory statement = _statement(record.key, c, _joiningValue(walk, rho), rho);
        _pair(record.key, statement, left, right, start + 33, seed);
    }

    /// @dev Assembly: the tag ends where the words begin, and x follows them.
    function _seed(Record memory record, Walk memory walk, uint256 c) private view returns (uint256 seed) {
        uint256 head = walk.first - 0x20 * SEED_WORDS;
        bytes32 contextsHash;
        uint256 contexts = walk.contexts;
        uint256 size = walk.context - contexts;
        assembly ("memory-safe") {
            contextsHash := keccak256(contexts, size)
            mstore(sub(head, 0x20), SEED_TAG)
        }
        ProgramMemory.store(head, block.chainid);
        ProgramMemory.store(head + 0x20, uint256(uint160(address(this))));
        ProgramMemory.store(head + 0x40, uint256(record.keyHash));
        ProgramMemory.store(head + 0x60, uint256(srsId));
        ProgramMemory.store(head + 0x80, c);
        ProgramMemory.store(head + 0xa0, uint256(contextsHash));
        assembly ("memory-safe") {
            let from := sub(head, SEED_TAG_BYTES)
            seed := keccak256(from, sub(contexts, from))
        }
    }

    /// @notice E = sum of rho^i x_i, i from 1.
    /// @dev Assembly: a sum of two elements below r needs no reduction before it is multiplied.
    function _joiningValue(Walk memory walk, uint256 rho) private pure returns (uint256 value) {
        uint256 first = walk.first;
        uint256 end = walk.contexts;
        assembly ("memory-safe") {
            for {} gt(end, first) {} {
                end := sub(end, 0x20)
                value := mulmod(add(value, mload(end)), rho, FR_MODULUS)
            }
        }
    }

    /// @notice The key's point of the constant, plus c, E and rho times theirs.
    function _statement(uint256 key, uint256 c, uint256 e, uint256 rho)
        private
        view
        returns (G1.Point memory statement)
    {
        bool valid = true;
        uint256[3] memory signals = [c, e, rho];
        assembly ("memory-safe") {
            let free := mload(0x40)
            let point := add(key, KEY_POINTS_AT)
            mcopy(free, point, 0x40)
            for { let i := 0 } lt(i, 3) { i := add(i, 1) } {
                point := add(point, 0x40)
                mcopy(add(free, 0x40), point, 0x40)
                mstore(add(free, 0x80), mload(add(signals, shl(5, i))))
                let success := staticcall(gas(), EC_MUL, add(free, 0x40), 0x60, add(free, 0x40), 0x40)
                valid := and(valid, and(success, eq(returndatasize(), 0x40)))
                success := staticcall(gas(), EC_ADD, free, 0x80, free, 0x40)
                valid := and(valid, and(success, eq(returndatasize(), 0x40)))
            }
            mcopy(statement, free, 0x40)
        }
        if (!valid) revert ProofInvalid();
    }

    /// @notice e(-A, B) e(alpha, beta) e(C, delta) e(statement + w L, H) e(-w R, tau H) = 1, w drawn from all of it.
    /// @dev Groth16's equation, its gamma being H, and the opening's to the power w: both are of the form product = 1, and if
    /// either does not hold, both together hold for one w in r. Assembly: the precompile's words at the free pointer, which
    /// stays where it is.
    /// @param proof offset of A, B and C
    function _pair(
        uint256 key,
        G1.Point memory statement,
        G1.Point memory left,
        G1.Point memory right,
        uint256 proof,
        uint256 seed
    ) private view {
        G1.Point memory minus = G1.negate(right);
        uint256[4] memory tauH = [_tauHX1, _tauHX0, _tauHY1, _tauHY0];
        bool holds;
        assembly ("memory-safe") {
            let free := mload(0x40)
            // w = keccak(seed | A | B | C | L | R) mod r
            mstore(free, seed)
            calldatacopy(add(free, 0x20), proof, 0x100)
            mcopy(add(free, 0x120), left, 0x40)
            mcopy(add(free, 0x160), right, 0x40)
            let w := mod(keccak256(free, 0x1a0), FR_MODULUS)
            // (-A, B)
            calldatacopy(free, proof, 0xc0)
            let y := mload(add(free, 0x20))
            // A coordinate that is not below q stays so, and the precompile refuses it.
            if and(gt(y, 0), lt(y, FQ_MODULUS)) { mstore(add(free, 0x20), sub(FQ_MODULUS, y)) }
            // (alpha, beta)
            mcopy(add(free, 0xc0), key, 0xc0)
            // (C, delta)
            calldatacopy(add(free, 0x180), add(proof, 0xc0), 0x40)
            mcopy(add(free, 0x1c0), add(key, KEY_DELTA_AT), 0x80)
            // (statement + w L, H)
            let to := add(free, 0x240)
            mcopy(to, left, 0x40)
            mstore(add(to, 0x40), w)
            let success := staticcall(gas(), EC_MUL, to, 0x60, to, 0x40)
            success := and(success, eq(returndatasize(), 0x40))
            mcopy(add(to, 0x40), statement, 0x40)
            let done := staticcall(gas(), EC_ADD, to, 0x80, to, 0x40)
            success := and(success, and(done, eq(returndatasize(), 0x40)))
            mstore(add(to, 0x40), H_X1)
            mstore(add(to, 0x60), H_X0)
            mstore(add(to, 0x80), H_Y1)
            mstore(add(to, 0xa0), H_Y0)
            // (-w R, tau H)
            to := add(free, 0x300)
            mcopy(to, minus, 0x40)
            mstore(add(to, 0x40), w)
            done := staticcall(gas(), EC_MUL, to, 0x60, to, 0x40)
            success := and(success, and(done, eq(returndatasize(), 0x40)))
            mcopy(add(to, 0x40), tauH, 0x80)
            done := staticcall(gas(), PAIRING, free, 0x3c0, free, 0x20)
            success := and(success, and(done, eq(returndatasize(), 0x20)))
            holds := and(success, eq(mload(free), 1))
        }
        if (!holds) revert ProofInvalid();
    }

    /// @notice Copies words of the call to memory; each must be below r.
    function _copyScalars(uint256 offset, uint256 count, uint256 to) private pure {
        bool canonical = true;
        assembly ("memory-safe") {
            for { let end := add(to, shl(5, count)) } lt(to, end) { to := add(to, 0x20) } {
                let word := calldataload(offset)
                canonical := and(canonical, lt(word, FR_MODULUS))
                mstore(to, word)
                offset := add(offset, 0x20)
            }
        }
        if (!canonical) revert ScalarNotCanonical();
    }

    function _scalar(uint256 offset) private pure returns (uint256 value) {
        value = ProgramMemory.callWord(offset);
        if (value >= FR_MODULUS) revert ScalarNotCanonical();
    }

    // --- At deployment

    /// @dev What circuits/setup/require-production-key.ts refuses; and every point must be one of its group.
    function _requireKey(bytes memory record, uint256 index) private view {
        if (record.length < BatchRecord.KEY_BYTES + 3 || !BatchRecord.isWhole(record)) revert RecordInvalid(index);
        uint256 key;
        assembly ("memory-safe") {
            key := add(record, 0x20)
        }
        if (ProgramMemory.load(key) == DEVELOPMENT_ALPHA_X && block.chainid != DEVELOPMENT_CHAIN) {
            revert KeyDevelopment(index);
        }
        bool sound;
        assembly ("memory-safe") {
            let beta := keccak256(add(key, 64), 0x80)
            let delta := keccak256(add(key, KEY_DELTA_AT), 0x80)
            let free := mload(0x40)
            mstore(free, H_X1)
            mstore(add(free, 0x20), H_X0)
            mstore(add(free, 0x40), H_Y1)
            mstore(add(free, 0x60), H_Y0)
            // delta = gamma where nobody has contributed: anybody can prove anything. beta = H likewise, and alpha = G1.
            let generator := keccak256(free, 0x80)
            sound := iszero(or(eq(delta, generator), eq(beta, generator)))
            sound := and(sound, iszero(and(eq(mload(key), 1), eq(mload(add(key, 0x20)), 2))))
            // Every point through the pairing, which refuses what is none of its group.
            mcopy(free, key, 0xc0)
            for { let i := 0 } lt(i, 4) { i := add(i, 1) } {
                let to := add(free, mul(add(i, 1), 0xc0))
                mcopy(to, add(key, add(KEY_POINTS_AT, shl(6, i))), 0x40)
                mcopy(add(to, 0x40), add(key, KEY_DELTA_AT), 0x80)
            }
            let success := staticcall(gas(), PAIRING, free, 0x3c0, free, 0x20)
            sound := and(sound, and(success, eq(returndatasize(), 0x20)))
        }
        if (!sound) revert KeyInvalid(index);
    }
}
