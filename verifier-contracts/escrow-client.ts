/**
 * Typed client of Escrow.sol and its token.
 *
 * `…Call` gives the bytes of a transaction without sending it, for callers that keep their own record of nonces and
 * signed transactions; `send` sends one through the client's signer and waits.
 */
import { AbiCoder, concat, id, Interface, keccak256 } from 'ethers';
import { checkHex, orderValue, receiptStructHash, receiptValue } from '../receipts/eip712.js';
import type { BatchHeader } from '../receipts/batch.js';
import type { Hex, JobOrder, Receipt } from '../receipts/types.js';
import { headerValue } from '../receipts/verify-receipt.js';
import { escrowAbi } from './bindings/Escrow.js';
import { wrappedNativeAbi } from './bindings/WrappedNative.js';
import { ContractClient, orNull, type BlockTag, type Call, type ChainContext } from './contract-client.js';
import { policyOfValue, type Policy } from './policy.js';

export const escrowInterface = new Interface(escrowAbi);

/** Of the token an ERC-20's functions are used, and `deposit` of one that wraps the chain's own coin. */
const tokenInterface = new Interface(wrappedNativeAbi);

/** In the order of the contract's enum `OrderState`. */
export const ORDER_STATES = ['none', 'open', 'bound', 'paid', 'slashed', 'refunded'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** In the order of the contract's enum `OpenFault`. */
export const OPEN_FAULTS = [
  'none',
  'known',
  'expired',
  'deliver-too-soon',
  'policy',
  'lane',
  'size',
  'amount',
  'node',
  'requester-signature',
  'executor-signature',
  'requester-funds',
  'executor-funds',
  'reserve',
] as const;
export type OpenFault = (typeof OPEN_FAULTS)[number];

export interface SignedOrder {
  readonly order: JobOrder;
  readonly requesterSignature: Hex;
  /** The executor's, over its acceptance of the order. */
  readonly executorSignature: Hex;
}

/** A bound order and the leaf that it is bound to: what `settle` and `demandOutput` are told. */
export interface BoundOrder {
  readonly order: JobOrder;
  readonly receipt: Receipt;
  readonly header: BatchHeader;
  readonly index: number;
}

/** A run of chunks of one output tensor. */
export interface OutputRange {
  readonly tensor: number;
  readonly firstChunk: number;
  readonly chunkCount: number;
}

/** Bytes of an output, opened under a receipt's output root. */
export interface OutputOpening {
  readonly outputCount: number;
  readonly portPath: readonly Hex[];
  readonly tensorHeader: Hex;
  readonly elements: Hex;
  readonly chunkPath: readonly Hex[];
}

/** Two different receipts of one executor for one order. */
export interface Equivocation {
  readonly order: JobOrder;
  readonly receipt: Receipt;
  readonly signature: Hex;
  readonly other: Receipt;
  readonly otherSignature: Hex;
  /** Where the order's bound receipt stands; absent where the order is still open. */
  readonly leaf?: Pick<BoundOrder, 'header' | 'index'>;
  readonly beneficiary: Hex;
  /** Of the precommit. */
  readonly salt: Hex;
}

export interface OrderView {
  readonly state: OrderState;
  /** The account behind the executor, as registered when the order was opened; null where there is no order. */
  readonly account: Hex | null;
  readonly deliverBy: number;
  readonly price: bigint;
  readonly lock: bigint;
  /** See `boundLeaf` in receipts/; null until bound. */
  readonly leaf: Hex | null;
  /** An answer was late: the order will be refunded. */
  readonly undelivered: boolean;
  /** Demands that wait for an answer in time. */
  readonly openDemands: number;
}

/** How an order ended. */
export interface OrderEnd {
  readonly orderHash: Hex;
  readonly state: OrderState;
  readonly toRequester: bigint;
  readonly toAccount: bigint;
  readonly burnt: bigint;
}

const NO_HEADER = {
  lane: 0,
  count: 0,
  committedAt: 0,
  committedBlock: 0,
  poster: `0x${'00'.repeat(20)}`,
  salt: `0x${'00'.repeat(32)}`,
  batchRoot: `0x${'00'.repeat(32)}`,
  policyHash: `0x${'00'.repeat(32)}`,
  unbound: 0n,
};

export class EscrowClient extends ContractClient {
  constructor(
    context: ChainContext,
    address: Hex,
    /** The settlement token. */
    readonly token: Hex,
  ) {
    super(context, address, escrowInterface);
  }

  // Token

  /** Lets the escrow take `amount` of the caller's tokens in `deposit`. */
  approveCall(amount: bigint): Call {
    return { to: this.token, data: tokenInterface.encodeFunctionData('approve', [this.address, amount]) as Hex };
  }

  /** Wraps native currency, where the token is the wrapped native one. @param amount in wei */
  wrapCall(amount: bigint): Call {
    return { to: this.token, data: tokenInterface.encodeFunctionData('deposit') as Hex, value: amount };
  }

  /** What an account holds of the token itself, outside the escrow. */
  async tokenBalanceOf(account: Hex, blockTag: BlockTag = 'latest'): Promise<bigint> {
    return this.tokenView('balanceOf', [account], blockTag);
  }

  async allowanceOf(owner: Hex): Promise<bigint> {
    return this.tokenView('allowance', [owner, this.address], 'latest');
  }

  // Accounts and nodes

  depositCall(account: Hex, amount: bigint): Call {
    return this.callOf('deposit', [account, amount]);
  }

  withdrawCall(amount: bigint, to: Hex): Call {
    return this.callOf('withdraw', [amount, to]);
  }

  /** Of the governor alone: what no open order has earmarked. */
  withdrawReserveCall(amount: bigint): Call {
    return this.callOf('withdrawReserve', [amount]);
  }

  /** From the caller's free balance. */
  fundReserveCall(amount: bigint): Call {
    return this.callOf('fundReserve', [amount]);
  }

  /** Sent by the account. @param signature the signer's, see `signNodeRegistration` */
  registerNodeCall(signer: Hex, signature: Hex): Call {
    return this.callOf('registerNode', [signer, signature]);
  }

  retireNodeCall(signer: Hex): Call {
    return this.callOf('retireNode', [signer]);
  }

  /** Between free balances. */
  transferCall(to: Hex, amount: bigint): Call {
    return this.callOf('transfer', [to, amount]);
  }

  /** Lets a contract, as a dispute game, take so much of the caller's free balance. @param amount 2^256 - 1: any */
  allowCall(spender: Hex, amount: bigint): Call {
    return this.callOf('approve', [spender, amount]);
  }

  /** What `spender` may take of a free balance; of the token itself, see `allowanceOf`. */
  async allowedOf(owner: Hex, spender: Hex, blockTag: BlockTag = 'latest'): Promise<bigint> {
    return (await this.view('allowanceOf', [owner, spender], blockTag)) as bigint;
  }

  async freeOf(account: Hex, blockTag: BlockTag = 'latest'): Promise<bigint> {
    return (await this.view('freeOf', [account], blockTag)) as bigint;
  }

  /** @returns account null where nobody registered the signer; active: neither retired nor suspended */
  async nodeOf(signer: Hex): Promise<{ readonly account: Hex | null; readonly active: boolean }> {
    const [account, active] = (await this.viewAll('nodeOf', [signer])) as unknown as [string, boolean];
    return { account: orNull(account), active };
  }

  // Policies

  addPolicyCall(policy: Policy): Call {
    return this.callOf('addPolicy', [policy]);
  }

  closePolicyCall(policyHash: Hex): Call {
    return this.callOf('closePolicy', [policyHash]);
  }

  /** @throws AssayError CHAIN_REVERTED (PolicyUnknown), CHAIN_UNAVAILABLE */
  async policyOf(policyHash: Hex): Promise<Policy> {
    return policyOfValue((await this.view('policyOf', [policyHash])) as Record<string, unknown>);
  }

  /** Time from which orders may be opened under it; null: never (unknown or closed). */
  async policyOpenFrom(policyHash: Hex): Promise<number | null> {
    const from = Number(await this.view('policyOpenFrom', [policyHash]));
    return from === 0 ? null : from;
  }

  // Orders

  openCall(orders: readonly SignedOrder[]): Call {
    return this.callOf('open', [orders.map(signedOrderValue)]);
  }

  cancelCall(order: JobOrder, requesterSignature: Hex, executorSignature: Hex): Call {
    return this.callOf('cancel', [orderValue(order), requesterSignature, executorSignature]);
  }

  expireCall(order: JobOrder): Call {
    return this.callOf('expire', [orderValue(order)]);
  }

  settleCall(orders: readonly BoundOrder[]): Call {
    return this.callOf('settle', [orders.map(boundOrderValue)]);
  }

  /** Why this order would not open now. */
  async openFaultOf(order: SignedOrder): Promise<OpenFault> {
    return OPEN_FAULTS[Number(await this.view('openFaultOf', [signedOrderValue(order)]))]!;
  }

  async orderOf(orderHash: Hex, blockTag: BlockTag = 'latest'): Promise<OrderView> {
    const view = (await this.view('orderOf', [orderHash], blockTag)) as Record<string, unknown>;
    return {
      state: ORDER_STATES[Number(view['state'])]!,
      account: orNull(view['account']),
      deliverBy: Number(view['deliverBy']),
      price: view['price'] as bigint,
      lock: view['lock'] as bigint,
      leaf: orNull(view['leaf']),
      undelivered: view['undelivered'] as boolean,
      openDemands: Number(view['openDemands']),
    };
  }

  /** What a mined `open` did with each of its orders. */
  async openedIn(
    transactionHash: Hex,
  ): Promise<{ readonly opened: Hex[]; readonly skipped: { readonly orderHash: Hex; readonly fault: OpenFault }[] }> {
    const events = await this.eventsIn(transactionHash);
    return {
      opened: events.filter(({ name }) => name === 'OrderOpened').map(({ args }) => args['orderHash'] as Hex),
      skipped: events
        .filter(({ name }) => name === 'OrderSkipped')
        .map(({ args }) => ({ orderHash: args['orderHash'] as Hex, fault: OPEN_FAULTS[Number(args['fault'])]! })),
    };
  }

  /** The orders that a mined transaction ended, and where their money went. */
  async endedIn(transactionHash: Hex): Promise<OrderEnd[]> {
    return (await this.eventsIn(transactionHash))
      .filter(({ name }) => name === 'OrderEnded')
      .map(({ args }) => ({
        orderHash: args['orderHash'] as Hex,
        state: ORDER_STATES[Number(args['state'])]!,
        toRequester: args['toRequester'] as bigint,
        toAccount: args['toAccount'] as bigint,
        burnt: args['burnt'] as bigint,
      }));
  }

  // Delivery

  demandOutputCall(bound: BoundOrder, range: OutputRange): Call {
    return this.callOf('demandOutput', [boundOrderValue(bound), range]);
  }

  /** @param range exactly as demanded */
  answerOutputCall(bound: BoundOrder, range: OutputRange, opening: OutputOpening): Call {
    return this.callOf('answerOutput', [boundOrderValue(bound), range, opening]);
  }

  // Faults that need no court

  /** @param commitment see `precommitment` */
  precommitCall(commitment: Hex): Call {
    return this.callOf('precommit', [commitment]);
  }

  slashEquivocationCall(found: Equivocation): Call {
    return this.callOf('slashEquivocation', equivocationValues(found));
  }

  /** @param found as it was announced; it need not be the pair of receipts that the kill was for */
  claimBountyCall(found: Equivocation): Call {
    return this.callOf('claimBounty', equivocationValues(found));
  }

  // Freeze, clock, reserve

  freezeCall(): Call {
    return this.callOf('freeze', []);
  }

  unfreezeCall(): Call {
    return this.callOf('unfreeze', []);
  }

  async frozen(): Promise<boolean> {
    return (await this.view('frozen', [])) as boolean;
  }

  /** The time by which everything is judged: seconds or blocks (`clockMode`), less all frozen time. */
  async clock(blockTag: BlockTag = 'latest'): Promise<number> {
    return Number(await this.view('clock', [], blockTag));
  }

  /** ERC-6372, as in `mode=timestamp`. */
  async clockMode(): Promise<string> {
    return (await this.view('CLOCK_MODE', [])) as string;
  }

  /** @returns available for new orders, and held for those that are open */
  async reserve(): Promise<{ readonly available: bigint; readonly held: bigint }> {
    const [available, held] = (await this.viewAll('reserve', [])) as unknown as [bigint, bigint];
    return { available, held };
  }

  private async tokenView(name: string, args: readonly unknown[], blockTag: BlockTag): Promise<bigint> {
    return this.guard(`token ${this.token}: ${name}`, async () => {
      const data = await this.provider.call({
        to: this.token,
        data: tokenInterface.encodeFunctionData(name, args),
        blockTag,
      });
      return tokenInterface.decodeFunctionResult(name, data)[0] as bigint;
    });
  }

  /** The escrow's own events of a transaction; none where it is not mined. */
  private async eventsIn(transactionHash: Hex): Promise<{ name: string; args: Record<string, unknown> }[]> {
    const mined = await this.guard(`transaction ${transactionHash}`, () =>
      this.provider.getTransactionReceipt(transactionHash),
    );
    return (mined?.logs ?? [])
      .filter(({ address }) => address.toLowerCase() === this.address)
      .map((log) => escrowInterface.parseLog(log))
      .filter((event) => event !== null)
      .map(({ name, args }) => ({ name, args: args as unknown as Record<string, unknown> }));
  }
}

/**
 * What is announced before an equivocation is told, so that a copied call earns nothing. It names the two receipts, in
 * whichever order: whoever has not seen both has nothing to announce.
 * @param found `salt`: 32 secret bytes
 * @throws AssayError RECEIPT_FIELD_INVALID
 */
export function precommitment({
  receipt,
  other,
  beneficiary,
  salt,
}: Pick<Equivocation, 'receipt' | 'other' | 'beneficiary' | 'salt'>): Hex {
  // Lower-case hex of one length: its order is that of the numbers.
  const evidence = keccak256(concat([receiptStructHash(receipt), receiptStructHash(other)].sort()));
  return keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'bytes32', 'bytes32', 'address', 'bytes32'],
      [
        receipt.orderHash,
        id('assay/fault/equivocation'),
        evidence,
        checkHex('precommit', 'beneficiary', beneficiary, 20),
        checkHex('precommit', 'salt', salt, 32),
      ],
    ),
  ) as Hex;
}

function signedOrderValue({ order, requesterSignature, executorSignature }: SignedOrder): Record<string, unknown> {
  return { order: orderValue(order), requesterSignature, executorSignature };
}

/** What both calls about an equivocation are told. */
function equivocationValues(found: Equivocation): unknown[] {
  const { order, receipt, leaf, other, signature, otherSignature, beneficiary, salt } = found;
  const place = {
    order: orderValue(order),
    receipt: receiptValue(receipt),
    header: leaf === undefined ? NO_HEADER : headerValue(leaf.header),
    index: leaf?.index ?? 0,
  };
  return [place, receiptValue(other), signature, otherSignature, beneficiary, salt];
}

/** As the contracts are told. @throws AssayError RECEIPT_FIELD_INVALID */
export function boundOrderValue({ order, receipt, header, index }: BoundOrder): Record<string, unknown> {
  return { order: orderValue(order), receipt: receiptValue(receipt), header: headerValue(header), index };
}
