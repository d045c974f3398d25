"""Writes eip712.json and batch.json of this folder anew, from the keys and receipts that stand in eip712.json.

Needs eth-account 0.14.0 (with eth-abi and eth-utils), and nothing of this repository: the field lists below are
written down a second time on purpose. Usage: python make-vectors.py; then format the JSON with prettier.
"""

import json
import pathlib

from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

HERE = pathlib.Path(__file__).parent
LANES = {"zk": 1, "optimistic": 2, "sampled": 3}
TYPES = {
    "JobOrder": "address requester,address executor,bytes32 modelDigest,bytes32 inputRoot,uint32 items,uint8 lane,"
    "bytes32 policyHash,uint256 price,uint256 surcharge,uint32 outputBytes,uint64 deliverBy,uint64 validUntil,"
    "uint256 nonce",
    "Receipt": "bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,"
    "uint32 opCount,uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt",
    "Acceptance": "bytes32 orderHash",
    "Cancellation": "bytes32 orderHash",
    "NodeRegistration": "address account,address signer",
    "Opening": "bytes32 orderHash,bytes32 batchHash,uint32 index,bytes32 nodeId,bytes32 contentHash",
}


def hexed(value: bytes) -> str:
    return "0x" + value.hex()


def signed(kind: str, value: dict, domain: dict, key: str) -> tuple[str, str, str]:
    """Struct hash, digest and signature."""
    fields = [dict(zip(("type", "name"), field.split(" "))) for field in TYPES[kind].split(",")]
    message = {f["name"]: value[f["name"]] for f in fields}
    if "lane" in message:
        message["lane"] = LANES[message["lane"]]
    for f in fields:
        if f["type"].startswith("uint"):
            message[f["name"]] = int(message[f["name"]])
    typed = encode_typed_data(
        {"name": "Assay", "version": "1", "chainId": int(domain["chainId"]), "verifyingContract": domain["verifyingContract"]},
        {kind: fields},
        message,
    )
    digest = keccak(b"\x19\x01" + typed.header + typed.body)
    return hexed(typed.body), hexed(digest), hexed(Account.sign_message(typed, key).signature)


def address(key: str) -> str:
    return Account.from_key(key).address.lower()


def case(old: dict, i: int) -> dict:
    domain, order, receipt = old["domain"], old["order"], old["receipt"]
    executor, requester = old["executorKey"], old["requesterKey"]
    largest = int(order["price"]) == 2**256 - 1
    order = {
        "requester": order["requester"],
        "executor": address(executor),
        **{name: order[name] for name in ("modelDigest", "inputRoot", "items", "lane", "policyHash", "price")},
        "surcharge": str(2**256 - 1 if largest else 50 + i),
        "outputBytes": 2**32 - 1 if largest else 4096 + i,
        "deliverBy": order["deliverBy"],
        "validUntil": 2**53 - 1 if largest else 1_795_000_000 + i,
        "nonce": order["nonce"],
    }
    order_struct, order_digest, order_signature = signed("JobOrder", order, domain, requester)
    named = {"orderHash": order_digest}
    _, acceptance_digest, acceptance = signed("Acceptance", named, domain, executor)
    _, cancellation_digest, cancellation = signed("Cancellation", named, domain, requester)
    registration = {"account": order["requester"], "signer": address(executor)}
    _, registration_digest, registration_signature = signed("NodeRegistration", registration, domain, executor)
    opening = {
        **named,
        "batchHash": hexed(keccak(text=f"batch {i}")),
        "index": 2**32 - 1 if largest else i,
        "nodeId": hexed(keccak(text=f"node {i}")),
        "contentHash": hexed(keccak(text=f"content {i}")),
    }
    opening_struct, opening_digest, opening_signature = signed("Opening", opening, domain, executor)
    receipt = {**receipt, "orderHash": order_digest}
    receipt_struct, receipt_digest, receipt_signature = signed("Receipt", receipt, domain, executor)
    terms = [
        bytes.fromhex(receipt["modelDigest"][2:]),
        bytes.fromhex(receipt["inputRoot"][2:]),
        receipt["items"],
        LANES[receipt["lane"]],
        bytes.fromhex(receipt["policyHash"][2:]),
        receipt["executor"],
    ]
    return {
        "domain": domain,
        "domainSeparator": old["domainSeparator"],
        "order": order,
        "orderStructHash": order_struct,
        "orderDigest": order_digest,
        "termsHash": hexed(keccak(encode(["bytes32", "bytes32", "uint256", "uint256", "bytes32", "address"], terms))),
        "requesterKey": requester,
        "orderSignature": order_signature,
        "acceptanceDigest": acceptance_digest,
        "acceptance": acceptance,
        "cancellationDigest": cancellation_digest,
        "cancellation": cancellation,
        "registration": registration,
        "registrationDigest": registration_digest,
        "registrationSignature": registration_signature,
        "opening": opening,
        "openingStructHash": opening_struct,
        "openingDigest": opening_digest,
        "openingSignature": opening_signature,
        "receipt": receipt,
        "receiptStructHash": receipt_struct,
        "receiptDigest": receipt_digest,
        "executorKey": executor,
        "receiptSignature": receipt_signature,
    }


def batch(c: dict, i: int) -> dict:
    """A header that names this case's receipt as leaf `index`, and the hashes that follow from it."""
    extreme = i == 1
    header = {
        "lane": c["receipt"]["lane"],
        "count": 256 if extreme else i + 1,
        "poster": address(c["requesterKey"]),
        "salt": hexed(keccak(text=f"salt {i}")),
        "batchRoot": hexed(keccak(text=f"root {i}")),
        "policyHash": c["receipt"]["policyHash"],
        "unbound": str(2**255 if extreme else i),
        "committedAt": 2**48 - 1 if extreme else 1_790_000_000 + i,
        "committedBlock": 2**48 - 1 if extreme else 100 + i,
    }
    name = keccak(
        encode(
            ["bytes32", "uint256", "address", "address", "bytes32", "uint256", "uint256", "bytes32", "bytes32"],
            [
                keccak(text="assay/batch/2"),
                int(c["domain"]["chainId"]),
                c["domain"]["verifyingContract"],
                header["poster"],
                bytes.fromhex(header["salt"][2:]),
                LANES[header["lane"]],
                header["count"],
                bytes.fromhex(header["policyHash"][2:]),
                bytes.fromhex(header["batchRoot"][2:]),
            ],
        )
    )
    stored = keccak(
        encode(
            ["bytes32", "uint256", "uint256", "uint256"],
            [name, int(header["unbound"]), header["committedAt"], header["committedBlock"]],
        )
    )
    index = header["count"] - 1
    leaf = keccak(encode(["bytes32", "uint256", "bytes32"], [name, index, bytes.fromhex(c["receiptStructHash"][2:])]))
    return {
        "domain": c["domain"],
        "header": header,
        "batchHash": hexed(name),
        "headerHash": hexed(stored),
        "index": index,
        "receiptStructHash": c["receiptStructHash"],
        "boundLeaf": hexed(leaf),
    }


def write(name: str, source: str, cases: list) -> None:
    text = json.dumps({"source": source, "cases": cases}, indent=2)
    (HERE / name).write_text(text + "\n")


old = json.loads((HERE / "eip712.json").read_text())["cases"]
cases = [case(c, i) for i, c in enumerate(old)]
write(
    "eip712.json",
    "make-vectors.py with eth-account 0.14.0 (Python): encode_typed_data and Account.sign_message; terms by eth-abi",
    cases,
)
write("batch.json", "make-vectors.py with eth-abi and keccak of eth-utils (Python)", [batch(c, i) for i, c in enumerate(cases)])
