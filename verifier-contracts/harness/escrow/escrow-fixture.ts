/**
 * What the tests of Escrow share: a private chain, the contract between a staged court, rollup and token, ten parties
 * with money, and a ledger that is read before and after a step.
 *
 * Everything that is signed is built here from the type strings, not from receipts/eip712.ts: the contract is held
 * against a second source. Calls go to the node as they are, with a fixed gas limit and, where asked, at an exact time;
 * a refused call is mined too, and its error is read from the trace.
 */
import {
  AbiCoder,
  getAddress,
  getCreateAddress,
  id,
  Interface,
  JsonRpcProvider,
  keccak256,
  Network,
  TypedDataEncoder,
  Wallet,
  ZeroAddress,
  ZeroHash,
  type HDNodeWallet,
  type InterfaceAbi,
  type Result,
  type TypedDataField,
} from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../../../common/development-keys.js';
import { anvilKey, startAnvil } from '../../anvil.js';
import { compileContracts, type Artifacts } from '../../build.js';

export const PARTIES = [
  'deployer',
  'requester',
  'account',
  'signer',
  'checker',
  'reporter',
  'watcher',
  'stranger',
  'governor',
  'guardian',
] as const;
export type Party = (typeof PARTIES)[number];

export const LANE = { zk: 1, optimistic: 2, sampled: 3 } as const;
export const LEAF = { pending: 0, challengeable: 1, final: 2, void: 3, dead: 4 } as const;
export const STATE = { none: 0, open: 1, bound: 2, paid: 3, slashed: 4, refunded: 5 } as const;
export const OPEN_FAULTS = [
  'None',
  'Known',
  'Expired',
  'DeliverTooSoon',
  'Policy',
  'Lane',
  'Size',
  'Amount',
  'Node',
  'RequesterSignature',
  'ExecutorSignature',
  'RequesterFunds',
  'ExecutorFunds',
  'Reserve',
] as const;
export const BURNED = '0x000000000000000000000000000000000000dEaD';
export const INITIAL_FREE = 1_000_000_000n;
export const INITIAL_RESERVE = 1_000_000n;

export interface Policy {
  deliveryWindow: bigint;
  answerTime: bigint;
  responseTime: bigint;
  precommitDelay: bigint;
  minDeliver: bigint;
  bountyOpenBps: bigint;
  bountyAuditBps: bigint;
  protocolFeeBps: bigint;
  lockFactorBps: bigint;
  minLock: bigint;
  noShowFee: bigint;
  auditFee: bigint;
  unitPrice: bigint;
  gasKill: bigint;
  gasAnswer: bigint;
  gasAnswerByte: bigint;
  verifier: string;
  game: string;
  court: string;
}

/** Numbers that are all different, so that no two flows can be taken for one another. */
export const POLICY: Omit<Policy, 'verifier' | 'game' | 'court'> = {
  deliveryWindow: 600n,
  answerTime: 200n,
  responseTime: 100n,
  precommitDelay: 2n,
  minDeliver: 50n,
  bountyOpenBps: 900n,
  bountyAuditBps: 5_000n,
  protocolFeeBps: 250n,
  lockFactorBps: 20_000n,
  minLock: 2_000_000n,
  noShowFee: 150_000n,
  auditFee: 50_000n,
  unitPrice: 3n,
  gasKill: 70_000n,
  gasAnswer: 30_000n,
  gasAnswerByte: 41n,
};

const POLICY_TYPE =
  'tuple(uint32 deliveryWindow,uint32 answerTime,uint32 responseTime,uint32 precommitDelay,uint32 minDeliver,' +
  'uint16 bountyOpenBps,uint16 bountyAuditBps,uint16 protocolFeeBps,uint32 lockFactorBps,uint128 minLock,' +
  'uint128 noShowFee,uint128 auditFee,uint64 unitPrice,uint32 gasKill,uint32 gasAnswer,uint16 gasAnswerByte,' +
  'address verifier,address game,address court)';

export interface Order {
  requester: string;
  executor: string;
  modelDigest: string;
  inputRoot: string;
  items: bigint;
  lane: number;
  policyHash: string;
  price: bigint;
  surcharge: bigint;
  outputBytes: bigint;
  deliverBy: bigint;
  validUntil: bigint;
  nonce: bigint;
}

export interface Receipt {
  orderHash: string;
  modelDigest: string;
  inputRoot: string;
  outputRoot: string;
  traceRoot: string;
  opCount: number;
  items: bigint;
  amount: bigint;
  lane: number;
  policyHash: string;
  executor: string;
  issuedAt: bigint;
}

export interface SignedOrder {
  order: Order;
  requesterSignature: string;
  executorSignature: string;
}

export interface Header {
  lane: number;
  count: number;
  committedAt: number;
  committedBlock: number;
  poster: string;
  salt: string;
  batchRoot: string;
  policyHash: string;
  unbound: bigint;
}

export interface Settlement {
  order: Order;
  receipt: Receipt;
  header: Header;
  index: number;
}

export interface OrderView {
  readonly state: bigint;
  readonly account: string;
  readonly deliverBy: bigint;
  readonly price: bigint;
  readonly lock: bigint;
  readonly leaf: string;
  readonly undelivered: boolean;
  readonly openDemands: bigint;
}

/** A bound order, or one as it would be. */
export interface Job extends Settlement {
  readonly orderHash: string;
  readonly batchHash: string;
}

const field = (list: string): TypedDataField[] =>
  list.split(',').map((entry) => {
    const [type, name] = entry.split(' ');
    return { type: type!, name: name! };
  });
export const TYPES = {
  JobOrder: field(
    'address requester,address executor,bytes32 modelDigest,bytes32 inputRoot,uint32 items,uint8 lane,' +
      'bytes32 policyHash,uint256 price,uint256 surcharge,uint32 outputBytes,uint64 deliverBy,uint64 validUntil,' +
      'uint256 nonce',
  ),
  Acceptance: field('bytes32 orderHash'),
  Cancellation: field('bytes32 orderHash'),
  NodeRegistration: field('address account,address signer'),
  Receipt: field(
    'bytes32 orderHash,bytes32 modelDigest,bytes32 inputRoot,bytes32 outputRoot,bytes32 traceRoot,uint32 opCount,' +
      'uint32 items,uint256 amount,uint8 lane,bytes32 policyHash,address executor,uint64 issuedAt',
  ),
};
export type TypeName = keyof typeof TYPES;

/** A call that the contract refused. */
export class Refusal extends Error {
  constructor(
    readonly error: string,
    readonly args: readonly unknown[],
  ) {
    super(`${error}(${args.join(', ')})`);
  }
}

/** All money of the contract by whose it is; what is not zero. */
export type Ledger = Record<string, bigint>;

/** For the first start, which compiles. */
export const START_TIMEOUT_MS = 240_000;

export interface Options {
  readonly chainId?: bigint;
  readonly clockIsTimestamp?: boolean;
  readonly policy?: Partial<Policy>;
  readonly policyDelay?: number;
  readonly maxFreeze?: number;
  readonly coolDown?: number;
}

export const wallets = Object.fromEntries(
  PARTIES.map((party, i) => [party, new Wallet(anvilKey(i))]),
) as unknown as Readonly<Record<Party, Wallet>>;
export const addressOf = (party: Party): string => wallets[party].address;

export const policyHashOf = (policy: Policy): string =>
  keccak256(AbiCoder.defaultAbiCoder().encode([POLICY_TYPE], [policy]));
export const tableCost = (policy: Pick<Policy, 'gasAnswer' | 'gasAnswerByte' | 'unitPrice'>, chunks: bigint): bigint =>
  (policy.gasAnswer + policy.gasAnswerByte * 256n * chunks) * policy.unitPrice;
export const depositOf = (policy: Policy, chunks: bigint): bigint => (tableCost(policy, chunks) * 6n) / 5n;
export const lockOf = (policy: Policy, price: bigint): bigint => {
  const lock = (price * policy.lockFactorBps) / 10_000n;
  return lock > policy.minLock ? lock : policy.minLock;
};
/** Names two receipts, the one with the smaller hash first. */
export const evidenceOf = (receipt: Receipt, other: Receipt): string => {
  const [a, b] = [structHash('Receipt', receipt), structHash('Receipt', other)];
  return keccak256(AbiCoder.defaultAbiCoder().encode(['bytes32', 'bytes32'], BigInt(a) < BigInt(b) ? [a, b] : [b, a]));
};
export const precommitment = (orderHash: string, evidence: string, beneficiary: string, salt: string): string =>
  keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'bytes32', 'bytes32', 'address', 'bytes32'],
      [orderHash, id('assay/fault/equivocation'), evidence, beneficiary, salt],
    ),
  );
export const termsHashOf = (receipt: Receipt): string =>
  keccak256(
    AbiCoder.defaultAbiCoder().encode(
      ['bytes32', 'bytes32', 'uint256', 'uint256', 'bytes32', 'address'],
      [receipt.modelDigest, receipt.inputRoot, receipt.items, receipt.lane, receipt.policyHash, receipt.executor],
    ),
  );

const HEADER_TYPE =
  'tuple(uint8 lane,uint32 count,uint48 committedAt,uint48 committedBlock,address poster,bytes32 salt,' +
  'bytes32 batchRoot,bytes32 policyHash,uint256 unbound)';
export const batchHashOf = (header: Header): string =>
  keccak256(AbiCoder.defaultAbiCoder().encode([HEADER_TYPE], [header]));

let artifacts: Artifacts | undefined;
export async function stagedArtifacts(): Promise<Artifacts> {
  artifacts ??= await compileContracts({ folders: ['src', 'harness/escrow'] });
  return artifacts;
}

export interface Called {
  readonly gasUsed: bigint;
  readonly time: number;
  readonly events: readonly { readonly name: string; readonly args: readonly unknown[] }[];
}

interface MinedReceipt {
  readonly status: string;
  readonly gasUsed: string;
  readonly blockNumber: string;
  readonly contractAddress: string;
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[];
}

export class EscrowFixture {
  private nonce = 0n;
  /** Hashes of all orders that were opened. */
  readonly orders = new Map<string, Order>();
  /** Accounts beside the parties whose free balances count. */
  readonly others = new Map<string, string>();

  constructor(
    readonly provider: JsonRpcProvider,
    readonly chainId: bigint,
    readonly interfaces: Readonly<Record<string, Interface>>,
    readonly addresses: Readonly<Record<'escrow' | 'rollup' | 'token' | 'court' | 'verifier', string>>,
    readonly policy: Policy,
    private readonly end: () => Promise<void>,
  ) {}

  get policyHash(): string {
    return policyHashOf(this.policy);
  }

  stop(): Promise<void> {
    return this.end();
  }

  // --- Calls

  /** Sends a call as a transaction, one unit of time after the newest block where no time is given. @throws Refusal */
  async send(from: Party, method: string, args: readonly unknown[], time?: number): Promise<Called> {
    return this.sendTo('escrow', from, method, args, time);
  }

  async sendTo(
    contract: 'escrow' | 'rollup' | 'token' | 'court',
    from: Party,
    method: string,
    args: readonly unknown[],
    time?: number,
  ): Promise<Called> {
    const data = this.interfaces[contract]!.encodeFunctionData(method, args);
    return this.transact({ from: addressOf(from), to: this.addresses[contract], data }, time);
  }

  async transact(transaction: Record<string, string>, time?: number): Promise<Called> {
    await this.provider.send('evm_setNextBlockTimestamp', [time ?? (await this.now()) + 1]);
    const receipt = await this.mined(await this.transactionHash(transaction));
    const block = (await this.provider.send('eth_getBlockByNumber', [receipt.blockNumber, false])) as {
      timestamp: string;
    };
    const events = receipt.logs.flatMap(({ address, topics, data }) => {
      if (address.toLowerCase() !== this.addresses.escrow.toLowerCase()) return [];
      const parsed = this.interfaces['escrow']!.parseLog({ topics, data })!;
      return [{ name: parsed.name, args: [...parsed.args] as unknown[] }];
    });
    return { gasUsed: BigInt(receipt.gasUsed), time: Number(block.timestamp), events };
  }

  private transactionHash(transaction: Record<string, string>): Promise<string> {
    return this.provider.send('eth_sendTransaction', [{ ...transaction, gas: '0xf00000' }]) as Promise<string>;
  }

  /** @throws Refusal */
  private async mined(hash: string): Promise<MinedReceipt> {
    const receipt = await receiptOf(this.provider, hash);
    if (receipt.status === '0x1') return receipt;
    const trace = (await this.provider.send('debug_traceTransaction', [hash, { tracer: 'callTracer' }])) as {
      output?: string;
    };
    throw this.refusalOf(trace.output ?? '0x');
  }

  refusalOf(data: string): Refusal {
    for (const abi of Object.values(this.interfaces)) {
      const parsed = data.length < 10 ? null : abi.parseError(data);
      if (parsed !== null) return new Refusal(parsed.name, [...parsed.args] as unknown[]);
    }
    return new Refusal(data === '0x' ? 'nothing said' : data, []);
  }

  async read(method: string, args: readonly unknown[] = []): Promise<unknown> {
    return this.readFrom('escrow', method, args);
  }

  async readFrom(contract: 'escrow' | 'rollup' | 'token', method: string, args: readonly unknown[]): Promise<unknown> {
    const abi = this.interfaces[contract]!;
    const data = abi.encodeFunctionData(method, args);
    const result = (await this.provider.send('eth_call', [{ to: this.addresses[contract], data }, 'latest'])) as string;
    const values = abi.decodeFunctionResult(method, result);
    return values.length === 1 ? (values[0] as unknown) : values;
  }

  /** Time of the newest block. */
  async now(): Promise<number> {
    const block = (await this.provider.send('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
    return Number(block.timestamp);
  }

  /** Mines a block at that time, so that views see it. */
  async passTo(time: number): Promise<void> {
    await this.provider.send('evm_setNextBlockTimestamp', [time]);
    await this.provider.send('anvil_mine', ['0x1']);
  }

  /** Waits until that many calls wait for a block, where none is mined by itself. */
  async pending(count: number): Promise<void> {
    for (;;) {
      const { pending } = (await this.provider.send('txpool_status', [])) as { pending: string };
      if (Number(pending) >= count) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  snapshot(): Promise<string> {
    return this.provider.send('evm_snapshot', []) as Promise<string>;
  }

  async revertTo(snapshot: string): Promise<void> {
    await this.provider.send('evm_revert', [snapshot]);
    this.orders.clear();
    this.others.clear();
  }

  // --- Signatures

  get domain(): { name: string; version: string; chainId: bigint; verifyingContract: string } {
    return { name: 'Assay', version: '1', chainId: this.chainId, verifyingContract: this.addresses.rollup };
  }

  sign(wallet: Wallet | HDNodeWallet, type: TypeName, value: object, domain: object = this.domain): Promise<string> {
    return wallet.signTypedData(domain, { [type]: TYPES[type] }, value);
  }

  hash(type: TypeName, value: object): string {
    return typedHash(this.domain, type, value);
  }

  // --- Orders

  /** An order of the optimistic lane between requester and signer; `deliverBy` in 500 s. */
  async order(change: Partial<Order> = {}): Promise<Order> {
    const time = BigInt(await this.now());
    return {
      requester: addressOf('requester'),
      executor: addressOf('signer'),
      modelDigest: id('model'),
      inputRoot: id('input'),
      items: 3n,
      lane: LANE.optimistic,
      policyHash: this.policyHash,
      price: 1_500_000n,
      surcharge: 80_000n,
      outputBytes: 1_024n,
      deliverBy: time + 500n,
      validUntil: time + 400n,
      nonce: this.nonce++,
      ...change,
    };
  }

  async signed(order: Order, requester: Wallet = wallets.requester, executor = wallets.signer): Promise<SignedOrder> {
    return {
      order,
      requesterSignature: await this.sign(requester, 'JobOrder', order),
      executorSignature: await this.sign(executor, 'Acceptance', { orderHash: this.hash('JobOrder', order) }),
    };
  }

  async open(change: Partial<Order> = {}, time?: number): Promise<Order & { readonly orderHash: string }> {
    const order = await this.order(change);
    await this.send('stranger', 'open', [[await this.signed(order)]], time);
    return this.opened(order);
  }

  /** Counts an order among those whose money the contract holds. */
  opened(order: Order): Order & { readonly orderHash: string } {
    const orderHash = this.hash('JobOrder', order);
    this.orders.set(orderHash, order);
    return { ...order, orderHash };
  }

  receipt(order: Order, change: Partial<Receipt> = {}): Receipt {
    return {
      orderHash: this.hash('JobOrder', order),
      modelDigest: order.modelDigest,
      inputRoot: order.inputRoot,
      outputRoot: id('output'),
      traceRoot: order.lane === LANE.zk ? ZeroHash : id('trace'),
      opCount: 7,
      items: order.items,
      amount: 1_000_000n,
      lane: order.lane,
      policyHash: order.policyHash,
      executor: order.executor,
      issuedAt: 1_800_000_000n,
      ...change,
    };
  }

  /** A job as it would stand in a batch that is committed at `committedAt`. */
  job(order: Order, change: Partial<Receipt> = {}, committedAt = 0): Job {
    const receipt = this.receipt(order, change);
    const header: Header = {
      lane: order.lane,
      count: 1,
      committedAt,
      committedBlock: 0,
      poster: ZeroAddress,
      salt: receipt.orderHash,
      batchRoot: ZeroHash,
      policyHash: order.policyHash,
      unbound: 0n,
    };
    return { order, receipt, header, index: 5, orderHash: receipt.orderHash, batchHash: batchHashOf(header) };
  }

  binding(job: Job): Record<string, unknown> {
    const leaf = keccak256(
      AbiCoder.defaultAbiCoder().encode(
        ['bytes32', 'uint256', 'bytes32'],
        [job.batchHash, job.index, structHash('Receipt', job.receipt)],
      ),
    );
    return { orderHash: job.orderHash, termsHash: termsHashOf(job.receipt), amount: job.receipt.amount, leaf };
  }

  /** Binds the order in a batch of its own, committed in the block of the call. @throws Refusal */
  async bind(order: Order, change: Partial<Receipt> = {}, time?: number): Promise<Job> {
    const at = time ?? (await this.now()) + 1;
    const job = this.job(order, change, at);
    await this.sendTo('rollup', 'stranger', 'bind', [[this.binding(job)]], at);
    return job;
  }

  async bound(change: Partial<Order> = {}, receipt: Partial<Receipt> = {}): Promise<Job> {
    return this.bind(await this.open(change), receipt);
  }

  async judge(job: Job, state: number, checker = ZeroAddress, reporter = ZeroAddress): Promise<void> {
    await this.sendTo('court', 'deployer', 'set', [job.batchHash, job.index, state, checker, reporter]);
  }

  /** Judges a bound job and settles it when its delivery window is over. */
  async settle(job: Job, state: number = LEAF.final, checker = ZeroAddress, reporter = ZeroAddress): Promise<Called> {
    await this.judge(job, state, checker, reporter);
    return this.send('stranger', 'settle', [[settlement(job)]], this.payableFrom(job));
  }

  /** First time at which the executor of a job can be paid. */
  payableFrom(job: Job): number {
    return job.header.committedAt + Number(this.policy.deliveryWindow) + 1;
  }

  async orderOf(orderHash: string): Promise<OrderView> {
    return ((await this.read('orderOf', [orderHash])) as Result).toObject() as unknown as OrderView;
  }

  async stateOf(orderHash: string): Promise<number> {
    return Number((await this.orderOf(orderHash)).state);
  }

  // --- Wallets with code

  /** @returns its address. @throws Refusal */
  async deploy(name: string, args: readonly unknown[]): Promise<string> {
    const { abi, bytecode } = artifacts![name]!;
    const data = bytecode + new Interface(abi as InterfaceAbi).encodeDeploy(args).slice(2);
    const hash = await this.transactionHash({ from: addressOf('deployer'), data });
    return getAddress((await this.mined(hash)).contractAddress);
  }

  /** A wallet that its owner's key signs for. */
  deployWallet(owner: Party): Promise<string> {
    return this.deploy('StagedWallet', [addressOf(owner)]);
  }

  /** Makes the wallet hostile; numbers as in StagedWallet.Mood. */
  async setMood(wallet: string, mood: number): Promise<void> {
    const abi = new Interface(artifacts!['StagedWallet']!.abi as InterfaceAbi);
    await this.transact({
      from: addressOf('deployer'),
      to: wallet,
      data: abi.encodeFunctionData('setMood', [mood]),
    });
  }

  // --- Money

  /**
   * Who has what, out of storage: free balances, live orders, locks, deposits, open bounties, reserve.
   * @throws Error where the sum is not the contract's balance of the token
   */
  async ledger(): Promise<Ledger> {
    const ledger: Ledger = {};
    const accounts = new Map<string, string>([
      ...PARTIES.map((party): [string, string] => [party, addressOf(party)]),
      ...this.others,
    ]);
    await Promise.all(
      [...accounts].map(async ([name, address]) => {
        ledger[name] = (await this.read('freeOf', [address])) as bigint;
      }),
    );
    const sums = { held: 0n, locks: 0n, deposits: 0n, bounties: 0n };
    await Promise.all(
      [...this.orders].map(async ([orderHash, order]) => {
        const [view, demands, bounty] = await Promise.all([
          this.orderOf(orderHash),
          this.read('demandsOf', [orderHash]) as Promise<{ range: { chunkCount: bigint } }[]>,
          this.read('bountyOf', [orderHash]) as Promise<bigint[]>,
        ]);
        sums.bounties += bounty[0]!;
        if (view.state !== BigInt(STATE.open) && view.state !== BigInt(STATE.bound)) return;
        sums.held += order.price + order.surcharge;
        sums.locks += view.lock;
        for (const { range } of demands) sums.deposits += depositOf(this.policy, range.chunkCount);
      }),
    );
    const [available, reserved] = (await this.read('reserve')) as [bigint, bigint];
    Object.assign(ledger, sums, { reserve: available, reserved });
    const sum = Object.values(ledger).reduce((a, b) => a + b, 0n);
    const tokens = (await this.readFrom('token', 'balanceOf', [this.addresses.escrow])) as bigint;
    if (sum !== tokens) throw new Error(`the contract has ${tokens} and owes ${sum}`);
    ledger['burnt'] = (await this.readFrom('token', 'balanceOf', [BURNED])) as bigint;
    return ledger;
  }

  /** What a step moves: entries of the ledger that change, by how much; they sum up to zero, deposits apart. */
  async moved(step: () => Promise<unknown>): Promise<Ledger> {
    const before = await this.ledger();
    await step();
    const after = await this.ledger();
    return Object.fromEntries(
      Object.keys({ ...before, ...after })
        .map((key): [string, bigint] => [key, (after[key] ?? 0n) - (before[key] ?? 0n)])
        .filter(([, value]) => value !== 0n),
    );
  }
}

/** What a call takes of a job. */
export const settlement = ({ order, receipt, header, index }: Settlement): Settlement => ({
  order,
  receipt,
  header,
  index,
});
export const structHash = (type: TypeName, value: object): string =>
  TypedDataEncoder.from({ [type]: TYPES[type] }).hash(value);
export const typedHash = (domain: object, type: TypeName, value: object): string =>
  keccak256(`0x1901${TypedDataEncoder.hashDomain(domain).slice(2)}${structHash(type, value).slice(2)}`);

async function receiptOf(provider: JsonRpcProvider, hash: string): Promise<MinedReceipt> {
  for (;;) {
    const receipt = (await provider.send('eth_getTransactionReceipt', [hash])) as MinedReceipt | null;
    if (receipt !== null) return receipt;
    // A long call may still be running when its hash is known.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function startEscrow(options: Options = {}): Promise<EscrowFixture> {
  const artifacts = await stagedArtifacts();
  const anvil = await startAnvil(options.chainId === undefined ? {} : { chainId: options.chainId });
  // One request a call: a test waits for each, and batching would make it wait longer.
  const provider = new JsonRpcProvider(anvil.url, undefined, {
    staticNetwork: Network.from(options.chainId ?? DEVELOPMENT_CHAIN_ID),
    batchMaxCount: 1,
    cacheTimeout: -1,
  });
  const { chainId } = await provider.getNetwork();
  const abi = (name: string): Interface => new Interface(artifacts[name]!.abi as InterfaceAbi);
  let nonce = 0;
  const deploy = async (name: string, args: readonly unknown[]): Promise<string> => {
    const data = artifacts[name]!.bytecode + abi(name).encodeDeploy(args).slice(2);
    const from = addressOf('deployer');
    const hash = (await provider.send('eth_sendTransaction', [{ from, data, gas: '0xf00000' }])) as string;
    const receipt = await receiptOf(provider, hash);
    if (receipt.status !== '0x1') throw new Error(`${name} was not deployed`);
    nonce += 1;
    return getAddress(receipt.contractAddress);
  };
  const token = await deploy('StagedToken', []);
  const court = await deploy('StagedCourt', []);
  const verifier = await deploy('StagedCourt', []);
  const policy: Policy = { ...POLICY, verifier, game: court, court, ...options.policy };
  const predicted = getCreateAddress({ from: addressOf('deployer'), nonce: nonce + 1 });
  const escrow = await deploy('Escrow', [
    token,
    predicted,
    options.clockIsTimestamp ?? true,
    addressOf('governor'),
    addressOf('guardian'),
    options.policyDelay ?? 300,
    options.maxFreeze ?? 1_000,
    options.coolDown ?? 5_000,
    [policy],
  ]);
  const rollup = await deploy('StagedRollup', [escrow, court]);
  const fixture = new EscrowFixture(
    provider,
    chainId,
    { escrow: abi('Escrow'), rollup: abi('StagedRollup'), token: abi('StagedToken'), court: abi('StagedCourt') },
    { escrow, rollup, token, court, verifier },
    policy,
    async () => {
      provider.destroy();
      await anvil.stop();
    },
  );
  for (const party of ['requester', 'account', 'governor'] as const) {
    await fixture.sendTo('token', party, 'mint', [addressOf(party), 2n * INITIAL_FREE]);
    await fixture.sendTo('token', party, 'approve', [escrow, 2n ** 256n - 1n]);
    await fixture.send(party, 'deposit', [addressOf(party), INITIAL_FREE]);
  }
  await fixture.send('governor', 'fundReserve', [INITIAL_RESERVE]);
  const registration = { account: addressOf('account'), signer: addressOf('signer') };
  const signature = await fixture.sign(wallets.signer, 'NodeRegistration', registration);
  await fixture.send('account', 'registerNode', [addressOf('signer'), signature]);
  return fixture;
}

/** The name of what a call is refused with, its arguments behind it; 'accepted' where it is not. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    if (error instanceof Refusal) return error.error;
    throw error;
  }
}
