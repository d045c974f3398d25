/**
 * What the contract tests share: a private chain, a deployment with money in it, auditors, and opened orders with
 * signed receipts in any number.
 */
import {
  AbiCoder,
  ContractFactory,
  id,
  Interface,
  Wallet,
  ZeroAddress,
  type Contract,
  type InterfaceAbi,
  type JsonRpcProvider,
} from 'ethers';
import { batchHash, type BatchHeader } from '../../receipts/batch.js';
import { hashOrder, receiptStructHash } from '../../receipts/eip712.js';
import { leafHash, merklePath } from '../../receipts/merkle.js';
import { signAcceptance, signNodeRegistration, signOrder, signReceipt } from '../../receipts/signature.js';
import type { Hex, JobOrder, Lane, Receipt, ReceiptDomain } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil, type AnvilOptions } from '../anvil.js';
import { bitmapOf, checkerBytes, signVerdict, type AuditVerdict } from '../audit-verdict.js';
import { compileContracts } from '../build.js';
import { connectChain } from '../connect-chain.js';
import type { Call } from '../contract-client.js';
import type { CourtClient } from '../court-client.js';
import type { CourtTerms } from '../court-terms.js';
import { deploySettlement, type Deployment, type PolicyParameters, type SettlementOptions } from '../deploy.js';
import type { EscrowClient, SignedOrder } from '../escrow-client.js';
import { type CommittedBatch, type RollupClient, type SignedReceipt } from '../rollup-client.js';
import { SettlementClient } from '../settlement-client.js';

const byAddress = (a: Wallet, b: Wallet): number => (addressOf(a) < addressOf(b) ? -1 : 1);
export const addressOf = ({ address }: { address: string }): Hex => address.toLowerCase() as Hex;
export const auditorWallets: readonly Wallet[] = ['a', 'b', 'c']
  .map((name) => new Wallet(id(`auditor ${name}`)))
  .sort(byAddress);

export const testTerms: CourtTerms = {
  beaconDelay: 2,
  auditWindow: 40,
  drawRatePpm: 250_000,
  quorum: 2,
  auditors: auditorWallets.map(addressOf),
};

export const testPolicy: PolicyParameters = {
  deliveryWindow: 30,
  answerTime: 20,
  responseTime: 12,
  precommitDelay: 2,
  minDeliver: 10,
  bountyOpenBps: 1_000,
  bountyAuditBps: 5_000,
  protocolFeeBps: 200,
  lockFactorBps: 20_000,
  minLock: 1_000_000n,
  noShowFee: 50_000n,
  auditFee: 10_000n,
  unitPrice: 1n,
  gasKill: 100_000,
  gasAnswer: 50_000,
  gasAnswerByte: 48,
};

/** Far behind any clock of a test, in seconds or in blocks. */
export const FAR = 4_000_000_000;

/** Executor i's; all of them earn for one account, `operator`. */
export const executorKey = (i: number): Hex => id(`executor ${i % 4}`) as Hex;
export const requesterWallet = new Wallet(id('requester'));
export const operatorWallet = new Wallet(id('operator'));
export const governorWallet = new Wallet(id('governor'));
export const guardianWallet = new Wallet(id('guardian'));

export const freshSalt = (): Hex => id(`salt ${salts++}`) as Hex;
let salts = 0;
let orders = 0;

/** @param lane of the batch, which stands in its leaves */
export function pathOf(receipts: readonly SignedReceipt[], index: number, lane: Lane = 'sampled'): Hex[] {
  return merklePath(leavesOf(receipts, lane), index);
}

export function leavesOf(receipts: readonly SignedReceipt[], lane: Lane = 'sampled'): Hex[] {
  return receipts.map(({ receipt }, i) => leafHash(i, lane, receiptStructHash(receipt)));
}

export interface FixtureOptions extends AnvilOptions {
  readonly clock?: 'timestamp' | 'blocknumber';
  readonly terms?: CourtTerms;
  readonly policies?: readonly PolicyParameters[];
}

export interface ReceiptOptions {
  /** @default 'sampled' */
  readonly lane?: Lane;
  /** @default the fixture's first policy */
  readonly policyHash?: Hex;
  /** Of each order before it is signed. */
  readonly order?: (order: JobOrder, i: number) => JobOrder;
  /** Are the orders opened? @default true */
  readonly open?: boolean;
}

export interface SettlementFixture {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  /** Deployer and poster. */
  readonly signer: Wallet;
  /** What `deployment` was made with: another one can be made with it on the same chain. */
  readonly options: SettlementOptions;
  readonly deployment: Deployment;
  readonly client: SettlementClient;
  readonly rollup: RollupClient;
  readonly escrow: EscrowClient;
  readonly court: CourtClient;
  /** The judge of the optimistic lane, who says what he is told (HarnessCourt.sol). */
  readonly game: Contract;
  /** Signed receipts for opened orders; `change` alters each before it is signed. */
  receipts(
    count: number,
    change?: (receipt: Receipt, i: number) => Receipt,
    options?: ReceiptOptions,
  ): Promise<SignedReceipt[]>;
  /** The order that a receipt of `receipts` was made for. */
  orderFor(receipt: Receipt): SignedOrder;
  /** Commits receipts of the sampled lane under the first policy. */
  commit(receipts: readonly SignedReceipt[], salt?: Hex): Promise<CommittedBatch>;
  /** Commits receipts of the zk lane, which the harness's verifier takes for proved (HarnessVerifier.sol). */
  commitProved(receipts: readonly SignedReceipt[], salt?: Hex): Promise<CommittedBatch>;
  /** A verdict over the fixed seed, with the signatures of the first `signers` auditors in order. */
  verdict(
    header: BatchHeader,
    kills: readonly number[],
    signers?: number,
    voided?: readonly number[],
    checked?: readonly (readonly [number, number])[],
  ): Promise<{ verdict: AuditVerdict; signatures: Hex[] }>;
  /** Commits, fixes the seed and reports. */
  finish(
    receipts: readonly SignedReceipt[],
    kills?: readonly number[],
    voided?: readonly number[],
  ): Promise<BatchHeader>;
  /** Sends a call as another account than the deployer, who is given coins for it. */
  sendAs(wallet: Wallet, call: Call): Promise<Hex>;
  /** Mines until the contract's clock shows `time`. */
  advanceTo(time: number): Promise<void>;
  /** The next transaction falls on `time` of the contract's clock. */
  nextAt(time: number): Promise<void>;
  stop(): Promise<void>;
}

/** What HarnessVerifier takes for the proof of these receipts. */
export function evidenceFor(receipts: readonly SignedReceipt[], change: Record<string, unknown> = {}): Hex {
  const claims = receipts.map(({ receipt }) => ({
    modelDigest: receipt.modelDigest,
    items: receipt.items,
    inputRoot: receipt.inputRoot,
    outputRoot: receipt.outputRoot,
    context: receipt.orderHash,
    ...change,
  }));
  const claim = 'tuple(bytes32 modelDigest, uint32 items, bytes32 inputRoot, bytes32 outputRoot, bytes32 context)[]';
  return AbiCoder.defaultAbiCoder().encode([claim], [claims]) as Hex;
}

export async function startSettlement(options: FixtureOptions = {}): Promise<SettlementFixture> {
  const { clock = 'timestamp', terms = testTerms, policies = [testPolicy], ...anvilOptions } = options;
  const anvil = await startAnvil(anvilOptions);
  const provider = await connectChain(anvil.url);
  // Away from 31337 the anvil accounts are refused, as they should be: another key is given funds.
  const signer = new Wallet(options.chainId === undefined ? anvilKey(0) : id('deployer'), provider);
  const endow = (address: string): Promise<unknown> =>
    provider.send('anvil_setBalance', [address, '0xffffffffffffffffffff']);
  for (const wallet of [signer, requesterWallet, operatorWallet, governorWallet, guardianWallet]) {
    await endow(wallet.address);
  }

  const harness = await compileContracts({ folders: ['harness'] });
  const deployHarness = async (name: string): Promise<Contract> => {
    const { abi, bytecode } = harness[name]!;
    const contract = await new ContractFactory(new Interface(abi as InterfaceAbi), bytecode, signer).deploy();
    await contract.waitForDeployment();
    return contract as Contract;
  };
  const game = await deployHarness('HarnessCourt');
  const verifier = await deployHarness('HarnessVerifier');
  const settlement: SettlementOptions = {
    token: 'wrapped-native',
    court: terms,
    game: ((await game.getAddress()) as Hex).toLowerCase() as Hex,
    verifier: ((await verifier.getAddress()) as Hex).toLowerCase() as Hex,
    policies,
    governor: addressOf(governorWallet),
    guardian: addressOf(guardianWallet),
    clock,
  };
  const deployment = await deploySettlement(signer, settlement);
  const client = await SettlementClient.connect({
    provider,
    rollup: deployment.rollup,
    signer,
    policyHash: deployment.policyHashes[0]!,
  });
  const { rollup, escrow, domain } = client;
  const court = client.court!;

  const sendAs = async (wallet: Wallet, call: Call): Promise<Hex> => {
    const sent = await wallet.connect(provider).sendTransaction(call);
    return (await sent.wait())!.hash as Hex;
  };
  const fund = 10n ** 15n;
  for (const wallet of [requesterWallet, operatorWallet]) {
    await sendAs(wallet, escrow.wrapCall(fund));
    await sendAs(wallet, escrow.approveCall(fund));
    await sendAs(wallet, escrow.depositCall(addressOf(wallet), fund));
  }
  await sendAs(requesterWallet, escrow.fundReserveCall(fund / 10n));
  for (let i = 0; i < 4; i++) {
    const node = new Wallet(executorKey(i));
    const registration = { account: addressOf(operatorWallet), signer: addressOf(node) };
    await sendAs(
      operatorWallet,
      escrow.registerNodeCall(registration.signer, await signNodeRegistration(registration, domain, node)),
    );
  }

  const signedOrders = new Map<Hex, SignedOrder>();
  const receipts: SettlementFixture['receipts'] = async (count, change = (receipt) => receipt, given = {}) => {
    const lane = given.lane ?? 'sampled';
    const signed = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const n = orders++;
        const order = (given.order ?? ((same: JobOrder) => same))(
          {
            requester: addressOf(requesterWallet),
            executor: addressOf(new Wallet(executorKey(i))),
            modelDigest: id('model') as Hex,
            inputRoot: id(`input ${n}`) as Hex,
            items: 1,
            lane,
            policyHash: given.policyHash ?? client.policyHash,
            price: 1000n,
            surcharge: 50n,
            outputBytes: 1024,
            deliverBy: FAR,
            validUntil: FAR,
            nonce: BigInt(n),
          },
          i,
        );
        signedOrders.set(hashOrder(order, domain), {
          order,
          requesterSignature: await signOrder(order, domain, requesterWallet),
          executorSignature: await signAcceptance(order, domain, new Wallet(executorKey(i))),
        });
        return { order, signed: await receiptFor(order, i, domain, change) };
      }),
    );
    if (given.open ?? true) {
      const opening = signed.map(({ order }) => signedOrders.get(hashOrder(order, domain))!);
      // 256 orders do not fit into one transaction.
      for (let at = 0; at < count; at += 64) {
        await escrow.send(escrow.openCall(opening.slice(at, at + 64)), 'open');
      }
    }
    return signed.map((one) => one.signed);
  };
  const verdict: SettlementFixture['verdict'] = async (header, kills, signers = 2, voided = [], checked) => {
    const batch = batchHash(header, domain);
    const seed = (await court.seedOf(batch)) ?? (id('no seed') as Hex);
    const assigned = checked ?? [...new Set([...kills, ...voided])].map((leaf) => [leaf, leaf % 3] as const);
    const given: AuditVerdict = {
      batchHash: batch,
      seed,
      kills: bitmapOf(kills),
      voided: bitmapOf(voided),
      resultsRoot: id('results') as Hex,
      checkers: checkerBytes(
        header.count,
        assigned.filter(([leaf]) => leaf < header.count),
      ),
      reporter: ZeroAddress as Hex,
    };
    const signatures = auditorWallets.slice(0, signers).map((wallet) => signVerdict(given, domain, wallet));
    return { verdict: given, signatures: await Promise.all(signatures) };
  };
  const commit: SettlementFixture['commit'] = (batch, salt = freshSalt()) =>
    rollup.commit('sampled', client.policyHash, batch, salt);

  const frozenTime = async (): Promise<number> => {
    const { number, timestamp } = (await provider.getBlock('latest'))!;
    return (clock === 'timestamp' ? timestamp : number) - (await escrow.clock());
  };
  const nextAt = async (time: number): Promise<void> => {
    const raw = time + (await frozenTime());
    if (clock === 'timestamp') await provider.send('evm_setNextBlockTimestamp', [raw]);
    else {
      const blocks = raw - 1 - (await provider.getBlockNumber());
      if (blocks > 0) await anvil.mine(blocks);
    }
  };
  return {
    anvil,
    provider,
    signer,
    options: settlement,
    deployment,
    client,
    rollup,
    escrow,
    court,
    game,
    receipts,
    orderFor: ({ orderHash }) => signedOrders.get(orderHash)!,
    commit,
    commitProved: (batch, salt = freshSalt()) =>
      rollup.commitProved(client.policyHash, batch, salt, evidenceFor(batch)),
    verdict,
    finish: async (batch, kills = [], voided = []) => {
      const { header } = await commit(batch);
      await anvil.mine(terms.beaconDelay);
      await court.fixSeed(header);
      const { verdict: given, signatures } = await verdict(header, kills, 2, voided);
      await court.reportAudit(header, given, signatures);
      return header;
    },
    sendAs,
    nextAt,
    advanceTo: async (time) => {
      await nextAt(time);
      await anvil.mine(1);
    },
    stop: async () => {
      provider.destroy();
      await anvil.stop();
    },
  };
}

async function receiptFor(
  order: JobOrder,
  i: number,
  domain: ReceiptDomain,
  change: (receipt: Receipt, i: number) => Receipt,
): Promise<SignedReceipt> {
  const { modelDigest, inputRoot, items, lane, policyHash, executor, price, nonce } = order;
  const zk = lane === 'zk';
  const receipt = change(
    {
      orderHash: hashOrder(order, domain),
      modelDigest,
      inputRoot,
      outputRoot: id(`output ${nonce}`) as Hex,
      traceRoot: zk ? `0x${'00'.repeat(32)}` : (id(`trace ${nonce}`) as Hex),
      opCount: 12,
      items,
      amount: price,
      lane,
      policyHash,
      executor,
      issuedAt: 1_800_000_000,
    },
    i,
  );
  return { receipt, signature: await signReceipt(receipt, domain, new Wallet(executorKey(i))) };
}
