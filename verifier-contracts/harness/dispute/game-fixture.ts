/**
 * What the tests of DisputeGame share: a private chain with the real Escrow and ReceiptRollup, a step contract that finds
 * what it is told, parties with money, and a ledger that is checked after every call.
 *
 * Calls are mined one to a block at an exact time; a refused one is mined too, and its error is read from the trace.
 */
import {
  AbiCoder,
  ContractFactory,
  id,
  Interface,
  JsonRpcProvider,
  keccak256,
  Network,
  Wallet,
  type InterfaceAbi,
} from 'ethers';
import { DEVELOPMENT_CHAIN_ID } from '../../../common/development-keys.js';
import { batchHash } from '../../../receipts/batch.js';
import { hashOrder } from '../../../receipts/eip712.js';
import {
  signAcceptance,
  signNodeRegistration,
  signOpening,
  signOrder,
  signReceipt,
} from '../../../receipts/signature.js';
import type { Hex, JobOrder, Receipt } from '../../../receipts/types.js';
import { anvilKey, startAnvil } from '../../anvil.js';
import { compileContracts } from '../../build.js';
import { settlementErrors, type Call } from '../../contract-client.js';
import { deploySettlement, type GameOptions, type PolicyParameters } from '../../deploy.js';
import type { Claim, FaultProof, GameNode, NodePath } from '../../dispute-types.js';
import { escrowInterface, type BoundOrder } from '../../escrow-client.js';
import { claimId, faultCommitment, gameInterface, nodeId, type GameClient } from '../../game-client.js';
import type { Policy } from '../../policy.js';
import { SettlementClient } from '../../settlement-client.js';
import { ports, type TestTrace } from './test-trace.js';

export const PARTIES = [
  'deployer',
  'requester',
  'account',
  'signer',
  'watcher',
  'hostile',
  'helper',
  'stranger',
  'governor',
  'guardian',
] as const;
export type Party = (typeof PARTIES)[number];

export const wallets = Object.fromEntries(PARTIES.map((party, i) => [party, new Wallet(anvilKey(i))])) as Readonly<
  Record<Party, Wallet>
>;
export const addressOf = (party: Party): Hex => wallets[party].address.toLowerCase() as Hex;

export const WINDOW = 600;
export const FREE = 10n ** 13n;
export const BURNED = '0x000000000000000000000000000000000000dead';

/** Numbers that are all different, so that no two flows can be taken for one another. */
export const gamePolicy: PolicyParameters = {
  deliveryWindow: 500,
  answerTime: 200,
  responseTime: 100,
  precommitDelay: 4,
  minDeliver: 50,
  bountyOpenBps: 900,
  bountyAuditBps: 5_000,
  protocolFeeBps: 250,
  lockFactorBps: 20_000,
  minLock: 2_000_000_000n,
  noShowFee: 150_000n,
  auditFee: 50_000n,
  unitPrice: 3n,
  gasKill: 700_000,
  gasAnswer: 90_000,
  gasAnswerByte: 41,
};
export const A = gamePolicy.answerTime;
export const R = gamePolicy.responseTime;
export const D = A + R;

/** A call that a contract refused. */
export class Refusal extends Error {
  constructor(
    readonly error: string,
    readonly args: readonly unknown[],
  ) {
    super(`${error}(${args.join(', ')})`);
  }
}

export interface Called {
  readonly gasUsed: bigint;
  readonly time: number;
  readonly hash: Hex;
  readonly events: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>> }[];
}

/** A claim that stands in a batch, and what was demanded of it. */
export interface Job extends BoundOrder {
  readonly trace: TestTrace;
  readonly claim: Claim;
  readonly batchHash: Hex;
  readonly id: Hex;
  /** Last time of the window. */
  readonly windowEnd: number;
  readonly demanded: GameNode[];
}

export type Ledger = Record<string, bigint>;

const SALT = id('salt') as Hex;
const relayInterface = new Interface(['function relay(address to, bytes data)']);

/** Says that a fault was found, whatever the claim. */
export function found(
  faultId: Hex = id('fault') as Hex,
  relies: readonly { readonly nodeId: Hex; readonly contentHash: Hex }[] = [],
  openings = 0,
): FaultProof {
  const finding = 'tuple(bytes32 faultId, tuple(bytes32 nodeId, bytes32 contentHash)[] relies)';
  const evidence = AbiCoder.defaultAbiCoder().encode(
    ['bool', finding, 'uint256'],
    [true, { faultId, relies }, openings],
  ) as Hex;
  return { fault: 'step', evidence, faultId };
}
/** The claim is right. */
export const notFound: FaultProof = {
  ...found(),
  evidence: AbiCoder.defaultAbiCoder().encode(
    ['bool', 'tuple(bytes32 faultId, tuple(bytes32 nodeId, bytes32 contentHash)[] relies)'],
    [false, { faultId: id('fault'), relies: [] }],
  ) as Hex,
};
export const allowed = AbiCoder.defaultAbiCoder().encode(['bool'], [true]) as Hex;
export const notAllowed = AbiCoder.defaultAbiCoder().encode(['bool'], [false]) as Hex;

export class GameFixture {
  #nonce = 0n;
  readonly jobs: Job[] = [];

  constructor(
    readonly provider: JsonRpcProvider,
    readonly client: SettlementClient,
    readonly relay: Hex,
    readonly policy: Policy,
    readonly otherPolicyHash: Hex,
    private readonly end: () => Promise<void>,
  ) {}

  get game(): GameClient {
    return this.client.game!;
  }

  stop(): Promise<void> {
    return this.end();
  }

  // --- Calls

  async now(): Promise<number> {
    const block = (await this.provider.send('eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
    return Number(block.timestamp);
  }

  /** Mined one unit of time after the newest block where no time is given; then the ledger is checked. @throws Refusal */
  async send(from: Party, call: Call, time?: number): Promise<Called> {
    const called = await this.#mined(from, call, time);
    await this.ledger();
    return called;
  }

  async #mined(from: Party, { to, data }: Call, time?: number): Promise<Called> {
    const when = time ?? (await this.now()) + 1;
    await this.provider.send('evm_setNextBlockTimestamp', [when]);
    const transaction = { from: addressOf(from), to, data, gas: '0xf00000' };
    const hash = (await this.provider.send('eth_sendTransaction', [transaction])) as Hex;
    const receipt = await minedReceipt(this.provider, hash);
    if (receipt.status !== '0x1') {
      const trace = (await this.provider.send('debug_traceTransaction', [hash, { tracer: 'callTracer' }])) as {
        output?: string;
      };
      throw refusalOf(trace.output ?? '0x');
    }
    const events = receipt.logs.flatMap(({ address, topics, data: logged }) => {
      if (address.toLowerCase() !== this.game.address) return [];
      const { name, args } = gameInterface.parseLog({ topics, data: logged })!;
      return [{ name, args: args.toObject() }];
    });
    return { gasUsed: BigInt(receipt.gasUsed), time: when, hash, events };
  }

  async passTo(time: number): Promise<void> {
    await this.provider.send('evm_setNextBlockTimestamp', [time]);
    await this.provider.send('anvil_mine', ['0x1']);
  }

  /** What `scene` does is undone. */
  async apart<T>(scene: () => Promise<T>): Promise<T> {
    const snapshot = (await this.provider.send('evm_snapshot', [])) as string;
    const jobs = this.jobs.map((job) => ({ job, demanded: [...job.demanded] }));
    try {
      return await scene();
    } finally {
      await this.provider.send('evm_revert', [snapshot]);
      this.jobs.length = 0;
      for (const { job, demanded } of jobs) {
        job.demanded.splice(0, job.demanded.length, ...demanded);
        this.jobs.push(job);
      }
    }
  }

  // --- Claims

  async order(change: Partial<JobOrder> = {}): Promise<JobOrder> {
    const time = await this.now();
    return {
      requester: addressOf('requester'),
      executor: addressOf('signer'),
      modelDigest: id('model') as Hex,
      inputRoot: ports(0, [id('input') as Hex]).root,
      items: 1,
      lane: 'optimistic',
      policyHash: this.client.policyHash,
      price: 1_500_000n,
      surcharge: 80_000n,
      outputBytes: 1_024,
      deliverBy: time + 50_000,
      validUntil: time + 50_000,
      nonce: this.#nonce++,
      ...change,
    };
  }

  /** A claim of its own batch, bound. */
  async job(trace: TestTrace, change: Partial<Receipt> = {}, orderChange: Partial<JobOrder> = {}): Promise<Job> {
    return this.#posted(trace, change, await this.order(orderChange));
  }

  /** An order that a receipt must bind within 100. */
  async shortOrder(): Promise<JobOrder> {
    const deliverBy = (await this.now()) + 2 * gamePolicy.minDeliver;
    return this.order({ deliverBy, validUntil: deliverBy });
  }

  /**
   * A claim whose receipt a lazy poster commits so long after the last time at which it binds its order; until 2 before that
   * time nobody can end the order for him.
   */
  async lateJob(trace: TestTrace, order: JobOrder, late: number): Promise<Job> {
    return this.#posted(trace, {}, order, async () => {
      for (const time of [order.deliverBy - 3, order.deliverBy - 2]) {
        const refused = await refusal(this.#mined('stranger', this.client.escrow.expireCall(order), time));
        if (refused !== 'NotExpired') throw new Error(`an order that has time left: ${refused}`);
      }
      return order.deliverBy + late;
    });
  }

  /** @param wait gives the time of the commit, when the order is open */
  async #posted(
    trace: TestTrace,
    change: Partial<Receipt>,
    order: JobOrder,
    wait?: () => Promise<number>,
  ): Promise<Job> {
    const { domain, escrow, rollup } = this.client;
    const signed = {
      order,
      requesterSignature: await signOrder(order, domain, wallets.requester),
      executorSignature: await signAcceptance(order, domain, wallets.signer),
    };
    await this.#mined('stranger', escrow.openCall([signed]));
    const receipt: Receipt = {
      orderHash: hashOrder(order, domain),
      modelDigest: order.modelDigest,
      inputRoot: order.inputRoot,
      outputRoot: ports(1, [id('output') as Hex]).root,
      traceRoot: trace.traceRoot,
      opCount: trace.roots.length,
      items: order.items,
      amount: 1_000_000n,
      lane: order.lane,
      policyHash: order.policyHash,
      executor: order.executor,
      issuedAt: 1_800_000_000,
      ...change,
    };
    const posted = [{ receipt, signature: await signReceipt(receipt, domain, wallets.signer) }];
    const call = rollup.commitCall(order.lane, order.policyHash, posted, receipt.orderHash);
    const { hash } = await this.#mined('stranger', call, await wait?.());
    const named = rollup.batchHashOf(order.lane, order.policyHash, posted, receipt.orderHash, addressOf('stranger'));
    const header = (await rollup.headerIn(hash, named))!;
    const job: Job = {
      order,
      receipt,
      header,
      index: 0,
      trace,
      claim: { receipt, header, index: 0 },
      batchHash: batchHash(header, domain),
      id: claimId(batchHash(header, domain), 0),
      windowEnd: header.committedAt + WINDOW,
      demanded: [],
    };
    this.jobs.push(job);
    return job;
  }

  /** Passes a call on through a contract. */
  relayCall(to: Hex, data: Hex): Call {
    return { to: this.relay, data: relayInterface.encodeFunctionData('relay', [to, data]) as Hex };
  }

  /** Escrow.transferFrom, which contracts call. */
  transferFromCall(from: Party, to: Party, amount: bigint): Call {
    const data = escrowInterface.encodeFunctionData('transferFrom', [addressOf(from), addressOf(to), amount]);
    return { to: this.client.escrow.address, data: data as Hex };
  }

  // --- Moves

  async demand(
    job: Job,
    node: GameNode,
    { by = 'watcher', time, path, evidence }: DemandOptions = {},
  ): Promise<Called & { readonly answerBy: number }> {
    const stated = node.kind === 'segment' || node.kind === 'sums';
    const call = this.game.demandCall(
      job.claim,
      node,
      path ?? job.trace.path(node),
      evidence ?? (stated ? allowed : '0x'),
    );
    const called = await this.#mined(by, call, time);
    job.demanded.push(node);
    await this.ledger();
    return { ...called, answerBy: called.time + A };
  }

  /** Answers, or states where only the executor can. */
  async answer(
    job: Job,
    node: GameNode,
    { by = 'account', time, content = this.contentOf(job, node), signature }: AnswerOptions = {},
  ): Promise<Called> {
    if (node.kind !== 'segment' && node.kind !== 'sums')
      return this.send(by, this.game.answerCall(job.claim, node, content), time);
    const signed = signature ?? (await this.opening(job, node, content));
    return this.send(by, this.game.stateCall(job.claim, node, content, signed), time);
  }

  contentOf(job: Job, node: GameNode): Hex {
    if (node.kind === 'inputs') return ports(0, [id('input') as Hex]).content;
    if (node.kind === 'outputs') return ports(1, [id('output') as Hex]).content;
    if (node.kind === 'sums') return `0x${'00000000000000ff'.repeat(node.count)}`;
    return job.trace.content(node);
  }

  /** The executor's signature over what he says. */
  opening(job: Job, node: GameNode, content: Hex, signer = wallets.signer, index = job.index): Promise<Hex> {
    const { orderHash } = job.receipt;
    const opening = {
      orderHash,
      batchHash: job.batchHash,
      index,
      nodeId: nodeId(node),
      contentHash: keccak256(content) as Hex,
    };
    return signOpening(opening, this.client.domain, signer);
  }

  async precommit(job: Job, proof = found(), by: Party = 'watcher', time?: number): Promise<Called> {
    const { game } = this;
    return this.send(by, game.precommitCall(commitmentOf(job, proof, by)), time);
  }

  prove(job: Job, proof = found(), { by = 'watcher', beneficiary = by, time }: ProveOptions = {}): Promise<Called> {
    const announcement = { beneficiary: addressOf(beneficiary), salt: SALT };
    return this.send(by, this.game.proveFaultCall(job, proof, announcement), time);
  }

  claimBounty(
    job: Job,
    proof = found(),
    { by = 'watcher', beneficiary = by, time }: ProveOptions = {},
  ): Promise<Called> {
    const announcement = { beneficiary: addressOf(beneficiary), salt: SALT };
    return this.send(by, this.game.claimBountyCall(job, proof, announcement), time);
  }

  timeout(job: Job, by: Party = 'stranger', time?: number): Promise<Called> {
    return this.send(by, this.game.timeoutCall(job), time);
  }

  settle(job: Job, by: Party = 'stranger', time?: number): Promise<Called> {
    return this.send(by, this.client.escrow.settleCall([job]), time);
  }

  close(job: Job, nodes: readonly GameNode[] = job.demanded, by: Party = 'stranger', time?: number): Promise<Called> {
    return this.send(by, this.game.closeDemandsCall(job.claim, nodes.map(nodeId)), time);
  }

  /** The executor's second receipt for the order. */
  async equivocate(job: Job, by: Party = 'stranger', time?: number): Promise<Called> {
    const { domain, escrow } = this.client;
    const other = { ...job.receipt, amount: 1n };
    const call = escrow.slashEquivocationCall({
      order: job.order,
      receipt: job.receipt,
      signature: await signReceipt(job.receipt, domain, wallets.signer),
      other,
      otherSignature: await signReceipt(other, domain, wallets.signer),
      leaf: job,
      beneficiary: addressOf(by),
      salt: SALT,
    });
    return this.send(by, call, time);
  }

  async stateOf(job: Job): Promise<string> {
    return this.client.rollup.leafStateOf(job.header, job.index);
  }

  async viewOf(job: Job): ReturnType<GameClient['claimOf']> {
    return this.game.claimOf(job.batchHash, job.header, job.index);
  }

  async demandOf(job: Job, node: GameNode): ReturnType<GameClient['demandOf']> {
    return this.game.demandOf(job.header.policyHash, job.id, nodeId(node));
  }

  // --- Money

  /**
   * Free balances, what orders hold, and the game's account, which must hold the open deposits and bounties exactly.
   * @throws Error where money is missing or nobody's
   */
  async ledger(): Promise<Ledger> {
    const { escrow } = this.client;
    const ledger: Ledger = {};
    await Promise.all(
      PARTIES.map(async (party) => {
        ledger[party] = await escrow.freeOf(addressOf(party));
      }),
    );
    const [inGame, { available, held }] = await Promise.all([escrow.freeOf(this.game.address), escrow.reserve()]);
    ledger['reserve'] = available + held;
    const sums = { orders: 0n, locks: 0n, outputs: 0n, equivocations: 0n, deposits: 0n, bounties: 0n };
    for (const job of this.jobs) await this.#addJob(job, sums);
    Object.assign(ledger, sums);
    if (sums.deposits + sums.bounties !== inGame)
      throw new Error(`the game has ${inGame} and owes ${sums.deposits} + ${sums.bounties}`);
    const total = Object.values(ledger).reduce((a, b) => a + b, 0n);
    const tokens = await escrow.tokenBalanceOf(escrow.address);
    if (total !== tokens) throw new Error(`the escrow has ${tokens} and owes ${total}`);
    ledger['burnt'] = await escrow.tokenBalanceOf(BURNED);
    return ledger;
  }

  async #addJob(
    job: Job,
    sums: Record<'orders' | 'locks' | 'outputs' | 'equivocations' | 'deposits' | 'bounties', bigint>,
  ): Promise<void> {
    const { escrow } = this.client;
    const { orderHash } = job.receipt;
    const [order, bounty, view, state, killed] = await Promise.all([
      escrow.orderOf(orderHash),
      this.game.bountyOf(job.batchHash, job.index),
      this.viewOf(job),
      this.stateOf(job),
      this.client.rollup.killsOf(job.batchHash),
    ]);
    const data = escrowInterface.encodeFunctionData('bountyOf', [orderHash]);
    sums.equivocations += BigInt((await this.provider.call({ to: escrow.address, data })).slice(0, 66));
    if (order.state === 'open' || order.state === 'bound') {
      sums.orders += job.order.price + job.order.surcharge;
      sums.locks += order.lock;
      sums.outputs += await this.#outputDeposits(orderHash);
    }
    sums.bounties += bounty?.amount ?? 0n;
    for (const node of job.demanded) {
      const demand = (await this.demandOf(job, node))!;
      if (!demand.closed) sums.deposits += demand.deposit;
    }
    // Settled by a stranger while a demand was overdue: the bounty waits in the game until somebody calls timeout.
    if (order.state === 'slashed' && state === 'dead' && !view.killed && killed === 0n && !view.timedOut)
      sums.bounties += (order.lock * BigInt(this.policy.bountyOpenBps)) / 10_000n;
  }

  /** Deposits of demands for output, which Escrow judges. */
  async #outputDeposits(orderHash: Hex): Promise<bigint> {
    const { escrow } = this.client;
    const data = escrowInterface.encodeFunctionData('demandsOf', [orderHash]);
    const answer = await this.provider.call({ to: escrow.address, data });
    const demands = escrowInterface.decodeFunctionResult('demandsOf', answer)[0] as { range: { chunkCount: bigint } }[];
    const { gasAnswer, gasAnswerByte, unitPrice } = this.policy;
    return demands
      .map(({ range }) => (BigInt(gasAnswer) + BigInt(gasAnswerByte) * 256n * range.chunkCount) * unitPrice)
      .reduce((sum, cost) => sum + (cost * 6n) / 5n, 0n);
  }

  /** What a step moves: entries of the ledger that change, by how much. */
  async moved(step: () => Promise<unknown>): Promise<Ledger> {
    const before = await this.ledger();
    await step();
    const after = await this.ledger();
    return Object.fromEntries(
      Object.keys(after)
        .map((key): [string, bigint] => [key, after[key]! - (before[key] ?? 0n)])
        .filter(([, value]) => value !== 0n),
    );
  }
}

interface DemandOptions {
  readonly by?: Party;
  readonly time?: number;
  readonly path?: NodePath;
  readonly evidence?: Hex;
}

interface AnswerOptions {
  readonly by?: Party;
  readonly time?: number;
  readonly content?: Hex;
  readonly signature?: Hex;
}

interface ProveOptions {
  readonly by?: Party;
  readonly beneficiary?: Party;
  readonly time?: number;
}

interface MinedLog {
  readonly address: string;
  readonly topics: string[];
  readonly data: string;
}

interface MinedReceipt {
  readonly status: string;
  readonly gasUsed: string;
  readonly logs: MinedLog[];
}

/**
 * Asks until the transaction is mined. The provider's own waitForTransaction compares the receipt with a height that it
 * asked for before: on a chain that mines with each transaction it can wait for a next block that never comes.
 */
export async function minedReceipt(provider: JsonRpcProvider, hash: Hex): Promise<MinedReceipt> {
  for (;;) {
    const receipt = (await provider.send('eth_getTransactionReceipt', [hash])) as MinedReceipt | null;
    if (receipt !== null) return receipt;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The name of what a call is refused with; 'accepted' where it is not. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    if (error instanceof Refusal) return error.error;
    throw error;
  }
}

function refusalOf(data: string): Refusal {
  const parsed = data.length < 10 ? null : settlementErrors.parseError(data);
  return parsed === null ? new Refusal(data, []) : new Refusal(parsed.name, [...parsed.args]);
}

const commitmentOf = (job: Job, { faultId }: FaultProof, beneficiary: Party): Hex =>
  faultCommitment(job.id, faultId, addressOf(beneficiary), SALT);

/** For the first start, which compiles. */
export const START_TIMEOUT_MS = 240_000;

/** @param judge contract that recomputes a step. @default a HarnessStep */
export async function startGame(judge?: GameOptions['step']): Promise<GameFixture> {
  const harness = await compileContracts({ folders: ['harness/dispute'] });
  const anvil = await startAnvil();
  // One request a call: a test waits for each, and batching would make it wait longer.
  const provider = new JsonRpcProvider(anvil.url, undefined, {
    staticNetwork: Network.from(DEVELOPMENT_CHAIN_ID),
    batchMaxCount: 1,
    cacheTimeout: -1,
    pollingInterval: 20,
  });
  const deployer = wallets.deployer.connect(provider);
  const deploy = async (name: string): Promise<Hex> => {
    const { abi, bytecode } = harness[name]!;
    const contract = await new ContractFactory(new Interface(abi as InterfaceAbi), bytecode, deployer).deploy();
    await contract.waitForDeployment();
    return (await contract.getAddress()).toLowerCase() as Hex;
  };
  const step = judge ?? (await deploy('HarnessStep'));
  const relay = await deploy('AnswerRelay');
  const deployment = await deploySettlement(deployer, {
    game: { terms: { window: WINDOW }, step },
    policies: [gamePolicy, { ...gamePolicy, precommitDelay: 50 }],
    governor: addressOf('governor'),
    guardian: addressOf('guardian'),
    policyDelay: 300,
    maxFreeze: 1_000,
    coolDown: 5_000,
  });
  const [policyHash, otherPolicyHash] = deployment.policyHashes;
  const client = await SettlementClient.connect({ provider, rollup: deployment.rollup, policyHash: policyHash! });
  const { escrow, domain } = client;
  const send = async (party: Party, call: Call): Promise<void> => {
    const transaction = { ...call, ...(call.value === undefined ? {} : { value: `0x${call.value.toString(16)}` }) };
    const asked = { from: addressOf(party), ...transaction, gas: '0xf00000' };
    // Mined, before anybody takes a snapshot.
    await minedReceipt(provider, (await provider.send('eth_sendTransaction', [asked])) as Hex);
  };
  for (const party of PARTIES) {
    await send(party, escrow.wrapCall(FREE));
    await send(party, escrow.approveCall(FREE));
    await send(party, escrow.depositCall(addressOf(party), FREE));
    await send(party, escrow.allowCall(client.game!.address, 2n ** 256n - 1n));
  }
  const registration = { account: addressOf('account'), signer: addressOf('signer') };
  const signature = await signNodeRegistration(registration, domain, wallets.signer);
  await send('account', escrow.registerNodeCall(registration.signer, signature));
  return new GameFixture(provider, client, relay, client.policy, otherPolicyHash!, async () => {
    provider.destroy();
    await anvil.stop();
  });
}
