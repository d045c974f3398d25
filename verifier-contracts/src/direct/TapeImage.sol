// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

// Where the memory begins that a ProgramStore hands to its TapeMaker: above what a compiled contract keeps below its free
// pointer.
uint256 constant IMAGE = 0x2000;
