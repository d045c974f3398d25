// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {LeafState} from "../../../src/ICourt.sol";
import {OrderState, OutputOpening, OutputRange, Settlement} from "../../../src/IEscrow.sol";
import {Receipt} from "../../../src/SettlementTypes.sol";
import {TensorOpener} from "../TensorOpener.sol";
import {vm} from "../Vm.sol";
import {BatchActions} from "./BatchActions.sol";
import {Signing} from "./Signing.sol";

/// @title What follows on a bound order: payment, delivery, a second receipt
abstract contract EndActions is BatchActions {
    /// The order that was announced last as one with a fault.
    uint256 private _suspect;

    // --- Payment

    function settle1(uint256 seed) external {
        _settleSome(seed);
    }

    function settle2(uint256 seed) external {
        _settleSome(seed);
    }

    function _settleSome(uint256 seed) private {
        if (jobs.length == 0) return;
        uint256[] memory list = new uint256[](1 + _draw(seed, 0) % 2);
        for (uint256 i = 0; i < list.length; ++i) {
            uint256 kind = _draw(seed, 3) % 8;
            list[i] = kind == 0 ? _pick(_draw(seed, 1 + i), EVERY_STATE) : _pickRipe(_draw(seed, 1 + i), kind > 1);
        }
        // The same order twice in one call is one order.
        if (list.length == 2 && _draw(seed, 4) % 4 == 0) list[1] = list[0];
        uint256 wrong = _draw(seed, 5) % 32;
        _settle(list, wrong, actors[_draw(seed, 6) % ACTORS]);
    }

    function _settle(uint256[] memory list, uint256 wrong, address sender) internal {
        Settlement[] memory settlements = new Settlement[](list.length);
        bool accepted = !_isFrozen();
        uint256 ended = 0;
        for (uint256 i = 0; i < list.length; ++i) {
            settlements[i] = _settlementOf(jobs[list[i]]);
            OrderState state = jobs[list[i]].state;
            if (state > OrderState.Bound) continue;
            for (uint256 k = 0; k < i; ++k) {
                if (list[k] == list[i]) state = OrderState.None;
            }
            if (state == OrderState.None) continue;
            ++ended;
            if (state == OrderState.Open || _outcomeOf(list[i]) == OrderState.Bound) accepted = false;
            if (_misquote(settlements[i], wrong)) accepted = false;
        }
        accepted = accepted && ended > 0;
        if (accepted) {
            for (uint256 i = 0; i < list.length; ++i) {
                if (jobs[list[i]].state == OrderState.Bound) _settled(list[i], sender);
            }
        }
        _call(sender, abi.encodeCall(escrow.settle, (settlements)), accepted, "settle");
    }

    /// A bound order, if it may be one that `settle` ends.
    function _pickRipe(uint256 seed, bool ripe) private view returns (uint256) {
        uint256 count = jobs.length;
        for (uint256 i = 0; i < count && ripe; ++i) {
            uint256 j = (seed % count + i) % count;
            if (jobs[j].state == OrderState.Bound && _outcomeOf(j) != OrderState.Bound) return j;
        }
        return _pick(seed, BOUND);
    }

    /// Changes what a call says of a leaf, and says whether it did.
    function _misquote(Settlement memory settlement, uint256 wrong) private pure returns (bool) {
        if (wrong == 0) ++settlement.receipt.amount;
        else if (wrong == 1) ++settlement.index;
        else if (wrong == 2) ++settlement.header.committedAt;
        else if (wrong == 3) settlement.header.policyHash = ~settlement.header.policyHash;
        else if (wrong == 4) ++settlement.order.surcharge;
        else return false;
        return true;
    }

    // --- Delivery

    function demand1(uint256 seed, uint256 tensor, uint256 firstChunk, uint256 chunkCount) external {
        _demand(seed, tensor, firstChunk, chunkCount);
    }

    function demand2(uint256 seed, uint256 tensor, uint256 firstChunk, uint256 chunkCount) external {
        _demand(seed, tensor, firstChunk, chunkCount);
    }

    function _demand(uint256 seed, uint256 tensor, uint256 firstChunk, uint256 chunkCount) private {
        if (jobs.length == 0) return;
        uint256 j = _pick(_draw(seed, 0), BOUND);
        Job storage job = jobs[j];
        OutputRange memory range = _draw(seed, 1) % 8 == 0
            ? OutputRange(uint32(tensor), uint32(firstChunk), uint32(chunkCount))
            : OutputRange(uint32(tensor % 3), uint32(firstChunk % 4), uint32(1 + chunkCount % 2));
        address sender = _draw(seed, 2) % 16 == 0 ? actors[5] : job.order.requester;
        bool accepted = !_isFrozen() && job.state == OrderState.Bound && sender == job.order.requester;
        if (accepted) {
            LeafState leaf = _leafOf(job);
            (, bool late) = _deliveryOf(j);
            accepted = leaf != LeafState.Dead && leaf != LeafState.Void && _now() <= _demandDeadline(job) && !late;
        }
        accepted = accepted && _isNew(j, range);
        uint256 cost = accepted ? _demandCost(job.order.policyHash, range.chunkCount) : 0;
        accepted = accepted && free[sender] >= _depositOf(cost);
        if (accepted) {
            free[sender] -= _depositOf(cost);
            asked[j].push(Asked(range, _now() + policies[job.order.policyHash].answerTime, cost, address(0)));
        }
        mayPay[sender] = true;
        bytes memory data = abi.encodeCall(escrow.demandOutput, (_settlementOf(job), range));
        _call(sender, data, accepted, "demandOutput");
        mayPay[sender] = false;
    }

    /// Not empty, at most 64 chunks, not beyond what an output can have, and nothing of it asked before.
    function _isNew(uint256 j, OutputRange memory range) private view returns (bool) {
        uint256 end = uint256(range.firstChunk) + range.chunkCount;
        if (range.chunkCount == 0 || range.chunkCount > 64 || end > 65_535 || range.tensor > 65_535) return false;
        for (uint256 i = 0; i < asked[j].length; ++i) {
            OutputRange storage other = asked[j][i].range;
            if (other.tensor != range.tensor) continue;
            if (range.firstChunk < other.firstChunk + other.chunkCount && other.firstChunk < end) return false;
        }
        return asked[j].length < 32;
    }

    function answer1(uint256 seed) external {
        _answer(seed);
    }

    function answer2(uint256 seed) external {
        _answer(seed);
    }

    function _answer(uint256 seed) private {
        uint256 j = _pickAsked(_draw(seed, 0));
        if (j == type(uint256).max) return;
        Job storage job = jobs[j];
        Asked storage question = asked[j][_draw(seed, 1) % asked[j].length];
        // Half of them the newest, which is most often still open.
        if (_draw(seed, 4) % 2 == 0) question = asked[j][asked[j].length - 1];
        OutputRange memory range = question.range;
        address sender = actors[_draw(seed, 2) % ACTORS];
        uint256 wrong = _draw(seed, 3) % 16;
        OutputOpening memory opening =
            TensorOpener.open(_outputs(wrong == 0 ? job.outputSeed + 1 : job.outputSeed), range);
        if (wrong == 1) opening.elements = bytes.concat(opening.elements, hex"00");
        bool accepted = !_isFrozen() && job.state == OrderState.Bound && question.payee == address(0)
            && _now() <= question.answerBy && wrong > 2;
        // A range that nobody asked for.
        if (wrong == 2) range.firstChunk += 1_000;
        if (accepted) {
            uint256 half = question.answerBy - policies[job.order.policyHash].answerTime / 2;
            question.payee = _now() <= half ? job.account : sender;
        }
        _call(
            sender, abi.encodeCall(escrow.answerOutput, (_settlementOf(job), range, opening)), accepted, "answerOutput"
        );
    }

    function _pickAsked(uint256 seed) private view returns (uint256) {
        uint256 count = jobs.length;
        uint256 found = type(uint256).max;
        for (uint256 i = 0; i < count; ++i) {
            uint256 j = (seed % count + i) % count;
            if (asked[j].length == 0) continue;
            (bool waiting,) = _deliveryOf(j);
            if (jobs[j].state == OrderState.Bound && waiting) return j;
            found = j;
        }
        return found;
    }

    // --- A second receipt

    struct Equivocation {
        Settlement first;
        Receipt second;
        bytes firstSignature;
        bytes secondSignature;
        address beneficiary;
        bytes32 salt;
    }

    function precommit(uint256 seed) external {
        if (jobs.length == 0) return;
        uint256 j = _pick(_draw(seed, 0), _draw(seed, 3) % 3 == 0 ? OPEN : BOUND);
        Equivocation memory found;
        _equivocate(jobs[j], found, 4 + _draw(seed, 4) % 2);
        (found.beneficiary, found.salt) = (actors[5 + _draw(seed, 1) % 2], bytes32(_draw(seed, 2) % 2));
        bytes32 commitment = _commitmentOf(jobs[j], found);
        _suspect = j;
        bool accepted = !_isFrozen();
        if (accepted && announced[commitment] == 0) announced[commitment] = _now();
        _call(actors[6], abi.encodeCall(escrow.precommit, (commitment)), accepted, "precommit");
        vm.assertEq(escrow.precommittedAt(commitment), announced[commitment], "the first announcement stands");
    }

    function slashEquivocation(uint256 seed) external {
        // Slashed nodes never come back: not too often.
        if (jobs.length == 0 || seed % 2 == 0) return;
        uint256 j = _pick(_draw(seed, 0), _draw(seed, 5) % 3 == 0 ? OPEN : BOUND);
        if (_draw(seed, 6) % 2 == 0) j = _suspect;
        Job storage job = jobs[j];
        Equivocation memory found;
        bool good = _equivocate(job, found, _draw(seed, 1));
        _choose(job, found, _draw(seed, 2), _draw(seed, 7) % 2 == 0);
        bool alive = job.state == OrderState.Open || (job.state == OrderState.Bound && _leafOf(job) != LeafState.Dead);
        bool accepted = !_isFrozen() && good && alive;
        if (accepted) _equivocated(j, _commitmentOf(job, found), found.beneficiary);
        _call(
            actors[_draw(seed, 4) % ACTORS],
            abi.encodeCall(
                escrow.slashEquivocation,
                (found.first, found.second, found.firstSignature, found.secondSignature, found.beneficiary, found.salt)
            ),
            accepted,
            "slashEquivocation"
        );
    }

    /// Two receipts for one order. @return whether they show what they should
    function _equivocate(Job storage job, Equivocation memory found, uint256 seed) private view returns (bool) {
        found.first = _settlementOf(job);
        if (job.state != OrderState.Bound) {
            found.first.receipt.orderHash = job.orderHash;
            found.first.receipt.executor = job.order.executor;
        }
        found.second = abi.decode(abi.encode(found.first.receipt), (Receipt));
        uint256 wrong = seed % 16;
        // In whatever field they differ, the executor has signed two answers.
        if (wrong % 2 == 0) found.second.outputRoot = ~found.second.outputRoot;
        else ++found.second.issuedAt;
        if (wrong == 0) found.second = found.first.receipt;
        if (wrong == 1) found.second.orderHash = ~found.second.orderHash;
        found.firstSignature = _signReceipt(found.first.receipt, job.order.executor);
        found.secondSignature = _signReceipt(found.second, wrong == 2 ? actors[5] : job.order.executor);
        bool misquoted = job.state == OrderState.Bound && wrong == 3;
        if (misquoted) ++found.first.index;
        return wrong > 2 && !misquoted;
    }

    /// Sets a possible beneficiary; where `any` is set, one who has announced this pair, if there is one.
    /// @return known whether he has
    function _choose(Job storage job, Equivocation memory found, uint256 seed, bool any)
        private
        view
        returns (bool known)
    {
        for (uint256 i = 0; i < 4; ++i) {
            (found.beneficiary, found.salt) = (actors[5 + (seed + i) % 2], bytes32((seed >> 8) + i / 2 & 1));
            known = announced[_commitmentOf(job, found)] != 0;
            if (!any || known) break;
        }
    }

    function _commitmentOf(Job storage job, Equivocation memory found) private view returns (bytes32) {
        bytes32 one = Signing.receiptHash(found.first.receipt);
        bytes32 other = Signing.receiptHash(found.second);
        return _commitment(job.orderHash, one, other, found.beneficiary, found.salt);
    }

    function claim1(uint256 seed) external {
        _claimSome(seed);
    }

    function claim2(uint256 seed) external {
        _claimSome(seed);
    }

    function _claimSome(uint256 seed) private {
        if (jobs.length == 0) return;
        _claim(_pickBounty(_draw(seed, 0)), seed);
    }

    function _claim(uint256 j, uint256 seed) internal {
        Job storage job = jobs[j];
        Equivocation memory found;
        bool good = false;
        // Of the two pairs that are announced, the one that was.
        for (uint256 i = 0; i < 2; ++i) {
            good = _equivocate(job, found, _draw(seed, 3) ^ i);
            if (_choose(job, found, _draw(seed, 1) % (1 << 128), _draw(seed, 2) % 8 != 0)) break;
        }
        uint256 outcome = _isFrozen() ? 0 : _claimOutcome(j, good, _commitmentOf(job, found));
        if (outcome == 1) free[found.beneficiary] += job.bounty;
        if (outcome == 2) burnt += job.bounty;
        if (outcome != 0) ++reached[outcome == 1 ? "bounty claimed" : "bounty burnt"];
        if (outcome != 0) job.bounty = 0;
        _call(
            actors[6],
            abi.encodeCall(
                escrow.claimBounty,
                (found.first, found.second, found.firstSignature, found.secondSignature, found.beneficiary, found.salt)
            ),
            outcome != 0,
            "claimBounty"
        );
    }

    function _pickBounty(uint256 seed) private view returns (uint256) {
        uint256 count = jobs.length;
        for (uint256 i = 0; i < count; ++i) {
            uint256 j = (seed % count + i) % count;
            if (jobs[j].bounty != 0) return j;
        }
        return seed % count;
    }
}
