/** The committed vectors as typed values, shared by the tests of receipts/ and verifier-contracts/. */
import type { BatchHeader } from '../batch.js';
import type { Hex, JobOrder, Lane, NodeRegistration, Opening, Receipt, ReceiptDomain } from '../types.js';
import batch from './batch.json' with { type: 'json' };
import eip712 from './eip712.json' with { type: 'json' };
import merkle from './merkle.json' with { type: 'json' };

export interface Eip712Case {
  readonly domain: ReceiptDomain;
  readonly domainSeparator: Hex;
  readonly order: JobOrder;
  readonly orderStructHash: Hex;
  readonly orderDigest: Hex;
  readonly termsHash: Hex;
  readonly requesterKey: Hex;
  readonly orderSignature: Hex;
  readonly acceptanceDigest: Hex;
  /** By the executor's key. */
  readonly acceptance: Hex;
  readonly cancellationDigest: Hex;
  /** By the requester's key. */
  readonly cancellation: Hex;
  readonly registration: NodeRegistration;
  readonly registrationDigest: Hex;
  /** By the executor's key. */
  readonly registrationSignature: Hex;
  readonly opening: Opening;
  readonly openingStructHash: Hex;
  readonly openingDigest: Hex;
  /** By the executor's key. */
  readonly openingSignature: Hex;
  readonly receipt: Receipt;
  readonly receiptStructHash: Hex;
  readonly receiptDigest: Hex;
  readonly executorKey: Hex;
  readonly receiptSignature: Hex;
}

export interface BatchCase {
  readonly domain: ReceiptDomain;
  readonly header: BatchHeader;
  readonly batchHash: Hex;
  readonly headerHash: Hex;
  readonly index: number;
  readonly receiptStructHash: Hex;
  readonly boundLeaf: Hex;
}

export interface MerkleCase {
  readonly lane: Lane;
  readonly count: number;
  readonly root: Hex;
  readonly paths: readonly { readonly index: number; readonly leaf: Hex; readonly path: readonly Hex[] }[];
}

export const eip712Cases: readonly Eip712Case[] = eip712.cases.map(
  (c) =>
    ({
      ...c,
      domain: { ...c.domain, chainId: BigInt(c.domain.chainId) },
      order: {
        ...c.order,
        price: BigInt(c.order.price),
        surcharge: BigInt(c.order.surcharge),
        nonce: BigInt(c.order.nonce),
      },
      receipt: { ...c.receipt, amount: BigInt(c.receipt.amount) },
    }) as Eip712Case,
);

export const batchCases: readonly BatchCase[] = batch.cases.map(
  (c) =>
    ({
      ...c,
      domain: { ...c.domain, chainId: BigInt(c.domain.chainId) },
      header: { ...c.header, unbound: BigInt(c.header.unbound) },
    }) as BatchCase,
);

export const merkleCases = merkle.cases as readonly MerkleCase[];

export const { domain: exampleDomain, receipt: exampleReceipt, order: exampleOrder } = eip712Cases[0]!;
