// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.28;

import {OrderState, SignedOrder} from "../../../src/IEscrow.sol";
import {Order} from "../../../src/SettlementTypes.sol";
import {bound} from "../bound.sol";
import {vm} from "../Vm.sol";
import {Parties} from "./Parties.sol";
import {Signing} from "./Signing.sol";

/// @title Orders until they are bound
abstract contract OrderActions is Parties {
    uint256 private constant MAX_JOBS = 40;

    function open1(uint256 seed, uint256 price, uint256 surcharge) external {
        _open(seed, price, surcharge);
    }

    function open2(uint256 seed, uint256 price, uint256 surcharge) external {
        _open(seed, price, surcharge);
    }

    function _open(uint256 seed, uint256 price, uint256 surcharge) private {
        if (jobs.length >= MAX_JOBS) return;
        SignedOrder[] memory orders = new SignedOrder[](1 + seed % 3);
        bool accepted = false;
        for (uint256 i = 0; i < orders.length; ++i) {
            (SignedOrder memory signed, bool opens) = _signedOrder(_draw(seed, i), price, surcharge);
            orders[i] = signed;
            if (i == 0) vm.assertTrue((uint256(escrow.openFaultOf(signed)) == 0) == opens, "openFaultOf");
            if (!opens || _isFrozen()) continue;
            accepted = true;
            _opened(signed.order, Signing.orderHash(address(rollup), signed.order));
            mayPay[signed.order.requester] = true;
            mayPay[nodeAccount[signed.order.executor]] = true;
        }
        _call(actors[5], abi.encodeCall(escrow.open, (orders)), accepted, "open");
        for (uint256 i = 0; i < orders.length; ++i) {
            mayPay[orders[i].order.requester] = false;
            mayPay[nodeAccount[orders[i].order.executor]] = false;
        }
    }

    function _signedOrder(uint256 seed, uint256 price, uint256 surcharge)
        private
        returns (SignedOrder memory signed, bool opens)
    {
        uint256 wrong = _draw(seed, 9) % 48;
        Order memory order = _order(seed, price, surcharge);
        if (wrong == 0) order.validUntil = uint64(_now() - 1);
        if (wrong == 1) order.deliverBy = uint64(_now());
        if (wrong == 2) order.items = 0;
        if (wrong == 3) order.outputBytes = 65_537;
        if (wrong == 4) order.policyHash = keccak256("no policy");
        if (wrong == 5) order.lane = _draw(seed, 10) % 2 == 0 ? 0 : 4;
        if (wrong == 6) order.price = type(uint256).max - _draw(seed, 10) % 3;
        if (wrong == 7) order.surcharge = type(uint128).max;
        if (wrong == 8) order.executor = actors[5];
        bool known = wrong == 9 && jobs.length > 0;
        if (known) order = jobs[_draw(seed, 10) % jobs.length].order;
        bytes32 orderHash = Signing.orderHash(address(rollup), order);
        signed.order = order;
        (signed.requesterSignature, opens) = _approve(order.requester, orderHash, wrong != 10);
        bytes32 acceptance = wrong == 11 ? orderHash : Signing.acceptance(address(rollup), orderHash);
        signed.executorSignature = Signing.sign(keyOf[wrong == 12 ? actors[5] : order.executor], acceptance);
        opens = opens && wrong != 11 && wrong != 12 && _mayOpen(order, known);
    }

    function _order(uint256 seed, uint256 price, uint256 surcharge) private returns (Order memory) {
        uint256 policy = _draw(seed, 1) % 8;
        bytes32 policyHash = policyHashes[policy < policyHashes.length ? policy : policy % 2];
        uint256 deliverIn = policies[policyHash].minDeliver + _draw(seed, 2) % 200;
        return Order({
            requester: actors[_draw(seed, 3) % 3],
            executor: _activeSigner(_draw(seed, 4)),
            modelDigest: bytes32(_draw(seed, 5)),
            inputRoot: bytes32(_draw(seed, 6)),
            items: uint32(1 + _draw(seed, 7) % 3),
            lane: uint8(1 + _draw(seed, 8) % 3),
            policyHash: policyHash,
            price: bound(price, 0, 4_000_000),
            surcharge: bound(surcharge, 0, 100_000),
            outputBytes: 1_000,
            deliverBy: uint64(_now() + deliverIn),
            validUntil: uint64(_now() + 5),
            nonce: ++nonce
        });
    }

    function _activeSigner(uint256 seed) private view returns (address) {
        for (uint256 i = 0; i < signers.length; ++i) {
            address signer = signers[(seed % signers.length + i) % signers.length];
            if (nodeActive[signer] || seed % 32 == 0) return signer;
        }
        return signers[0];
    }

    function cancel(uint256 seed) external {
        if (jobs.length == 0 || seed % 3 != 0) return;
        Job storage job = jobs[_pick(_draw(seed, 0), OPEN)];
        bytes32 digest = Signing.cancellation(address(rollup), job.orderHash);
        uint256 wrong = _draw(seed, 1) % 8;
        (bytes memory byRequester, bool approved) = _approve(job.order.requester, digest, wrong != 0);
        bool accepted = !_isFrozen() && job.state == OrderState.Open && approved && wrong != 1;
        bytes memory byExecutor = Signing.sign(keyOf[wrong == 1 ? actors[5] : job.order.executor], digest);
        if (accepted) _cancelled(job);
        _call(actors[5], abi.encodeCall(escrow.cancel, (job.order, byRequester, byExecutor)), accepted, "cancel");
    }

    function expire(uint256 seed) external {
        if (jobs.length == 0 || seed % 2 == 0) return;
        _expire(_pick(_draw(seed, 0), OPEN));
    }

    function _expire(uint256 j) internal {
        Job storage job = jobs[j];
        bool accepted = !_isFrozen() && job.state == OrderState.Open && _now() > job.order.deliverBy;
        if (accepted) _expired(job);
        _call(actors[6], abi.encodeCall(escrow.expire, (job.order)), accepted, "expire");
    }
}
