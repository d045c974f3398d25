/** The committed vectors as typed values, shared by the tests of receipts/ and verifier-contracts/. */
import type { Hex, JobOrder, Lane, Receipt, ReceiptDomain } from '../types.js';
import eip712 from './eip712.json' with { type: 'json' };
import merkle from './merkle.json' with { type: 'json' };

export interface Eip712Case {
  readonly domain: ReceiptDomain;
  readonly domainSeparator: Hex;
  readonly order: JobOrder;
  readonly orderDigest: Hex;
  readonly requesterKey: Hex;
  readonly orderSignature: Hex;
  readonly receipt: Receipt;
  readonly receiptStructHash: Hex;
  readonly receiptDigest: Hex;
  readonly executorKey: Hex;
  readonly receiptSignature: Hex;
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
      order: { ...c.order, price: BigInt(c.order.price), nonce: BigInt(c.order.nonce) },
      receipt: { ...c.receipt, amount: BigInt(c.receipt.amount) },
    }) as Eip712Case,
);

export const merkleCases = merkle.cases as readonly MerkleCase[];

export const { domain: exampleDomain, receipt: exampleReceipt, order: exampleOrder } = eip712Cases[0]!;
