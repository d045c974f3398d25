// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Order, Receipt} from "../../src/SettlementTypes.sol";
import {TypedHash} from "../../src/TypedHash.sol";
import {bound} from "./bound.sol";
import {vm} from "./Vm.sol";

/// @title EIP-712 hashes and signatures
/// @dev Struct hashes are compared with forge's own EIP-712 encoder, whole cases with the committed vectors.
contract TypedHashTest {
    uint256 private constant CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
    string private constant VECTORS = "../receipts/vectors/eip712.json";

    struct Domain {
        string name;
        string version;
        uint256 chainId;
        address verifyingContract;
    }

    function hashOrder(Order calldata order) external pure returns (bytes32) {
        return TypedHash.order(order);
    }

    function hashReceipt(Receipt calldata receipt) external pure returns (bytes32) {
        return TypedHash.receipt(receipt);
    }

    function recover(bytes32 digest, bytes calldata signature) external pure returns (address) {
        return TypedHash.recover(digest, signature);
    }

    // --- Hashes

    function testFuzz_order(Order calldata order) external view {
        bytes32 expected = vm.eip712HashStruct(
            "JobOrder(address requester,address executor,bytes32 modelDigest,bytes32 inputRoot,uint32 items,uint8 lane,bytes32 policyHash,uint256 price,uint256 surcharge,uint32 outputBytes,uint64 deliverBy,uint64 validUntil,uint256 nonce)",
            abi.encode(order)
        );
        vm.assertEq(this.hashOrder(order), expected, "order");
    }

    function testFuzz_receipt(Receipt calldata receipt) external view {
        bytes32 expected = vm.eip712HashStruct(
            "Receipt(bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,uint32 opCount,uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt)",
            abi.encode(receipt)
        );
        vm.assertEq(this.hashReceipt(receipt), expected, "receipt");
    }

    function testFuzz_shortStatements(bytes32 a, address p, address q) external pure {
        vm.assertEq(
            TypedHash.acceptance(a), vm.eip712HashStruct("Acceptance(bytes32 orderHash)", abi.encode(a)), "acceptance"
        );
        vm.assertEq(
            TypedHash.cancellation(a),
            vm.eip712HashStruct("Cancellation(bytes32 orderHash)", abi.encode(a)),
            "cancellation"
        );
        vm.assertEq(
            TypedHash.registration(p, q),
            vm.eip712HashStruct("NodeRegistration(address account,address signer)", abi.encode(p, q)),
            "registration"
        );
    }

    /// One word that says which statement it is about is never taken for another statement.
    function testFuzz_acceptanceIsNoCancellation(bytes32 orderHash) external pure {
        vm.assertTrue(TypedHash.acceptance(orderHash) != TypedHash.cancellation(orderHash), "same statement");
    }

    function testFuzz_domain(uint64 chain, address verifyingContract) external {
        vm.chainId(bound(chain, 1, type(uint64).max));
        vm.assertEq(
            TypedHash.domainSeparator(verifyingContract),
            vm.eip712HashStruct(
                "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
                abi.encode(Domain("Assay", "1", block.chainid, verifyingContract))
            ),
            "domain"
        );
    }

    function test_vectors() external {
        string memory json = vm.readFile(VECTORS);
        uint256 cases = 0;
        for (string memory prefix = ".cases[0]"; vm.keyExistsJson(json, prefix); prefix = _case(++cases)) {
            vm.chainId(vm.parseJsonUint(json, string.concat(prefix, ".domain.chainId")));
            bytes32 separator = TypedHash.domainSeparator(
                vm.parseJsonAddress(json, string.concat(prefix, ".domain.verifyingContract"))
            );
            vm.assertEq(separator, vm.parseJsonBytes32(json, string.concat(prefix, ".domainSeparator")), "separator");
            _checkOrder(json, prefix, separator);
            _checkReceipt(json, prefix, separator);
        }
        vm.assertTrue(cases >= 3, "too few cases");
    }

    function _case(uint256 i) private pure returns (string memory) {
        return string.concat(".cases[", vm.toString(i), "]");
    }

    function _checkOrder(string memory json, string memory prefix, bytes32 separator) private view {
        string memory from = string.concat(prefix, ".order");
        Order memory order;
        order.requester = vm.parseJsonAddress(json, string.concat(from, ".requester"));
        order.executor = vm.parseJsonAddress(json, string.concat(from, ".executor"));
        order.modelDigest = vm.parseJsonBytes32(json, string.concat(from, ".modelDigest"));
        order.inputRoot = vm.parseJsonBytes32(json, string.concat(from, ".inputRoot"));
        order.items = uint32(vm.parseJsonUint(json, string.concat(from, ".items")));
        order.lane = _lane(vm.parseJsonString(json, string.concat(from, ".lane")));
        order.policyHash = vm.parseJsonBytes32(json, string.concat(from, ".policyHash"));
        order.price = vm.parseJsonUint(json, string.concat(from, ".price"));
        order.surcharge = vm.parseJsonUint(json, string.concat(from, ".surcharge"));
        order.outputBytes = uint32(vm.parseJsonUint(json, string.concat(from, ".outputBytes")));
        order.deliverBy = uint64(vm.parseJsonUint(json, string.concat(from, ".deliverBy")));
        order.validUntil = uint64(vm.parseJsonUint(json, string.concat(from, ".validUntil")));
        order.nonce = vm.parseJsonUint(json, string.concat(from, ".nonce"));
        bytes32 digest = TypedHash.digest(separator, this.hashOrder(order));
        vm.assertEq(digest, vm.parseJsonBytes32(json, string.concat(prefix, ".orderDigest")), "order digest");
        bytes memory signature = vm.parseJsonBytes(json, string.concat(prefix, ".orderSignature"));
        vm.assertEq(this.recover(digest, signature), order.requester, "requester");
    }

    function _checkReceipt(string memory json, string memory prefix, bytes32 separator) private view {
        string memory from = string.concat(prefix, ".receipt");
        Receipt memory receipt;
        receipt.orderHash = vm.parseJsonBytes32(json, string.concat(from, ".orderHash"));
        receipt.modelDigest = vm.parseJsonBytes32(json, string.concat(from, ".modelDigest"));
        receipt.inputRoot = vm.parseJsonBytes32(json, string.concat(from, ".inputRoot"));
        receipt.outputRoot = vm.parseJsonBytes32(json, string.concat(from, ".outputRoot"));
        receipt.traceRoot = vm.parseJsonBytes32(json, string.concat(from, ".traceRoot"));
        receipt.opCount = uint32(vm.parseJsonUint(json, string.concat(from, ".opCount")));
        receipt.items = uint32(vm.parseJsonUint(json, string.concat(from, ".items")));
        receipt.amount = vm.parseJsonUint(json, string.concat(from, ".amount"));
        receipt.lane = _lane(vm.parseJsonString(json, string.concat(from, ".lane")));
        receipt.policyHash = vm.parseJsonBytes32(json, string.concat(from, ".policyHash"));
        receipt.executor = vm.parseJsonAddress(json, string.concat(from, ".executor"));
        receipt.issuedAt = uint64(vm.parseJsonUint(json, string.concat(from, ".issuedAt")));
        bytes32 structHash = this.hashReceipt(receipt);
        vm.assertEq(structHash, vm.parseJsonBytes32(json, string.concat(prefix, ".receiptStructHash")), "receipt");
        bytes32 digest = TypedHash.digest(separator, structHash);
        vm.assertEq(digest, vm.parseJsonBytes32(json, string.concat(prefix, ".receiptDigest")), "receipt digest");
        bytes memory signature = vm.parseJsonBytes(json, string.concat(prefix, ".receiptSignature"));
        vm.assertEq(this.recover(digest, signature), receipt.executor, "executor");
    }

    function _lane(string memory name) private pure returns (uint8) {
        bytes32 hash = keccak256(bytes(name));
        if (hash == keccak256("zk")) return 1;
        return hash == keccak256("optimistic") ? 2 : 3;
    }

    // --- Signatures

    function testFuzz_signerIsRecovered(uint256 key, bytes32 digest) external view {
        key = bound(key, 1, CURVE_ORDER - 1);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        vm.assertEq(this.recover(digest, bytes.concat(r, s, bytes1(v))), vm.addr(key), "signer");
    }

    /// The second signature that anybody can compute from a first one: (r, n - s) and the other parity.
    function testFuzz_malleatedIsRefused(uint256 key, bytes32 digest) external view {
        key = bound(key, 1, CURVE_ORDER - 1);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        bytes32 other = bytes32(CURVE_ORDER - uint256(s));
        // It is a signature to the precompile; TypedHash is who refuses it.
        vm.assertEq(ecrecover(digest, 55 - v, r, other), vm.addr(key), "not malleable");
        vm.assertEq(this.recover(digest, bytes.concat(r, other, bytes1(55 - v))), address(0), "upper half");
    }

    function testFuzz_otherEncodingsAreRefused(uint256 key, bytes32 digest, bytes1 v, bytes calldata tail)
        external
        view
    {
        key = bound(key, 1, CURVE_ORDER - 1);
        (uint8 right, bytes32 r, bytes32 s) = vm.sign(key, digest);
        bytes memory signature = bytes.concat(r, s, bytes1(right));
        if (tail.length > 0) vm.assertEq(this.recover(digest, bytes.concat(signature, tail)), address(0), "longer");
        vm.assertEq(this.recover(digest, bytes.concat(r, s)), address(0), "no parity");
        // EIP-2098: the parity in the top bit of s.
        bytes32 compact = right == 28 ? s | bytes32(uint256(1) << 255) : s;
        vm.assertEq(this.recover(digest, bytes.concat(r, compact)), address(0), "compact");
        if (uint8(v) == right) return;
        vm.assertTrue(this.recover(digest, bytes.concat(r, s, v)) != vm.addr(key), "other parity");
        if (uint8(v) != 27 && uint8(v) != 28) {
            vm.assertEq(this.recover(digest, bytes.concat(r, s, v)), address(0), "no such parity");
        }
    }

    function testFuzz_flippedBitIsNotTheSigner(uint256 key, bytes32 digest, uint256 bit) external view {
        key = bound(key, 1, CURVE_ORDER - 1);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        bytes32 flip = bytes32(1 << (bit % 256));
        address signer = vm.addr(key);
        vm.assertTrue(this.recover(digest ^ flip, bytes.concat(r, s, bytes1(v))) != signer, "digest");
        vm.assertTrue(this.recover(digest, bytes.concat(r ^ flip, s, bytes1(v))) != signer, "r");
        vm.assertTrue(this.recover(digest, bytes.concat(r, s ^ flip, bytes1(v))) != signer, "s");
    }

    function testFuzz_noiseNeverReverts(bytes32 digest, bytes calldata signature) external view {
        this.recover(digest, signature);
    }
}
