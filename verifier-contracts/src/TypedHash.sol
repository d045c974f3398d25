// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {Order, Receipt} from "./SettlementTypes.sol";

/// @title EIP-712 hashes of everything that is signed, and ECDSA; receipts/eip712.ts is the same in TypeScript
/// @dev One domain for all: the verifying contract is the rollup, so that a stranger who knows a receipt and its
/// rollup can check every signature, whichever contract acts on it.
library TypedHash {
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant ORDER_TYPE = keccak256(
        "JobOrder(address requester,address executor,bytes32 modelDigest,bytes32 inputRoot,uint32 items,uint8 lane,bytes32 policyHash,uint256 price,uint256 surcharge,uint32 outputBytes,uint64 deliverBy,uint64 validUntil,uint256 nonce)"
    );
    bytes32 private constant ACCEPTANCE_TYPE = keccak256("Acceptance(bytes32 orderHash)");
    bytes32 private constant CANCELLATION_TYPE = keccak256("Cancellation(bytes32 orderHash)");
    bytes32 private constant REGISTRATION_TYPE = keccak256("NodeRegistration(address account,address signer)");
    bytes32 private constant RECEIPT_TYPE = keccak256(
        "Receipt(bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,uint32 opCount,uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt)"
    );

    uint256 private constant ORDER_BYTES = 13 * 32;
    uint256 private constant RECEIPT_BYTES = 12 * 32;

    /// Half the order of secp256k1, rounded down.
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @dev Computed at each call, not cached: a fork of the chain changes the chain id.
    function domainSeparator(address verifyingContract) internal view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPE, keccak256("Assay"), keccak256("1"), block.chainid, verifyingContract)
        );
    }

    /// @notice Struct hash of an order; its digest is the identity of the request.
    function order(Order calldata value) internal pure returns (bytes32) {
        uint256 offset;
        // Where the struct lies; it has no bytes elsewhere, since all its fields are words.
        assembly ("memory-safe") {
            offset := value
        }
        return _words(ORDER_TYPE, offset, ORDER_BYTES);
    }

    /// @notice What an executor signs to take an order.
    function acceptance(bytes32 orderHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(ACCEPTANCE_TYPE, orderHash));
    }

    /// @notice What both sides sign to give an order up.
    function cancellation(bytes32 orderHash) internal pure returns (bytes32) {
        return keccak256(abi.encode(CANCELLATION_TYPE, orderHash));
    }

    /// @notice What a signer key signs to work for an account.
    function registration(address account, address signer) internal pure returns (bytes32) {
        return keccak256(abi.encode(REGISTRATION_TYPE, account, signer));
    }

    /// @notice Struct hash of a receipt.
    function receipt(Receipt calldata value) internal pure returns (bytes32) {
        uint256 offset;
        // As in `order`.
        assembly ("memory-safe") {
            offset := value
        }
        return _words(RECEIPT_TYPE, offset, RECEIPT_BYTES);
    }

    function digest(bytes32 separator, bytes32 structHash) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", separator, structHash));
    }

    /// @notice The signer, or zero for a signature that is not 65 bytes, has s in the upper half (EIP-2), or
    /// recovers to nothing.
    function recover(bytes32 hash, bytes calldata signature) internal pure returns (address) {
        if (signature.length != 65) return address(0);
        if (uint256(bytes32(signature[32:64])) > HALF_ORDER) return address(0);
        return ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    }

    /// @dev Assembly: calldata holds the fields as EIP-712 encodes them, so they are copied as they are; the encoder
    /// would read and check each. A word with more bits than its field has gives a hash that nobody signed.
    function _words(bytes32 typeHash, uint256 offset, uint256 size) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, typeHash)
            calldatacopy(add(free, 0x20), offset, size)
            hash := keccak256(free, add(size, 0x20))
        }
    }
}
