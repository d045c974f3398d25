// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

/// @title The calls of forge's virtual machine that these tests use; forge's book describes each
interface Vm {
    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);

    function warp(uint256 timestamp) external;
    function roll(uint256 blockNumber) external;
    function chainId(uint256 id) external;
    function prank(address sender) external;
    function prank(address sender, address origin) external;
    function assume(bool condition) external pure;
    function deal(address account, uint256 wei_) external;
    function getNonce(address account) external view returns (uint64);
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);

    function eip712HashStruct(string calldata definition, bytes calldata abiEncoded) external pure returns (bytes32);

    function envString(string calldata name) external view returns (string memory);
    function readFile(string calldata path) external view returns (string memory);
    function parseBytes(string calldata hexText) external pure returns (bytes memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function toString(uint256 value) external pure returns (string memory);
    function toString(address value) external pure returns (string memory);
    function toString(bytes32 value) external pure returns (string memory);
    function toString(bytes calldata value) external pure returns (string memory);

    function assertTrue(bool value, string calldata what) external pure;
    function assertFalse(bool value, string calldata what) external pure;
    function assertEq(uint256 found, uint256 expected, string calldata what) external pure;
    function assertEq(address found, address expected, string calldata what) external pure;
    function assertEq(bytes32 found, bytes32 expected, string calldata what) external pure;
}

// Where forge answers: the last twenty bytes of keccak("hevm cheat code").
Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
