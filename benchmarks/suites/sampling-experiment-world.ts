/**
 * Who takes part in the experiment on the sampled lane: a private chain with a fresh deployment, three honest operators
 * and one that cheats, checkers on two other engines, three auditors of whom two must agree, and one requester.
 *
 * An operator is an account with money. The cheat enrols under a new key whenever the last one was suspended; its keys
 * are made before the chain starts to count, and a node is started when its first order comes. All keys are for
 * development only.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { id, Wallet, type JsonRpcProvider } from 'ethers';
import { balancesOf, type Balances, type Party } from '../../cli/demo/money.js';
import {
  ExecutorNode,
  FlippedOutput,
  openEngine,
  openSigner,
  type ExecutionResult,
  type Executor,
  type ExecutorTerms,
} from '../../executor/index.js';
import type { Bundle } from '../../graph/index.js';
import {
  auditorPort,
  checkerFromEngine,
  openBundleFolder,
  settlementChain,
  type ExecutorPort,
  type PipelinePorts,
} from '../../pipeline/index.js';
import { hashOrder, signNodeRegistration, type Hex, type JobOrder } from '../../receipts/index.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import type { Call } from '../../verifier-contracts/contract-client.js';
import { deploySettlement, type PolicyParameters } from '../../verifier-contracts/deploy.js';
import { NOBODY } from '../../verifier-contracts/policy.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';

/** Of the token, which wraps the chain's coin. */
const TOKEN = 10n ** 18n;
export const PRICE = TOKEN / 1_000n;

/** Times in seconds. The audit may take its time: hundreds of orders are under way at once. */
export const AUDIT_WINDOW_S = 3_600;
/** Whole seconds: the node takes no others while it runs. */
const BLOCK_TIME_S = 1;

/** @param lockFactor what an executor stakes, in prices */
export function experimentPolicy(lockFactor: number): PolicyParameters {
  return {
    deliveryWindow: 60,
    answerTime: 20,
    responseTime: 30,
    precommitDelay: 2,
    minDeliver: 10,
    bountyOpenBps: 1_000,
    bountyAuditBps: 5_000,
    protocolFeeBps: 100,
    lockFactorBps: lockFactor * 10_000,
    minLock: (PRICE * BigInt(lockFactor)) / 2n,
    noShowFee: PRICE,
    auditFee: PRICE / 20n,
    unitPrice: 10n ** 8n,
    gasKill: 500_000,
    gasAnswer: 150_000,
    gasAnswerByte: 100,
  };
}

export interface WorldOptions {
  /** Fresh. */
  readonly folder: string;
  readonly bundle: Bundle;
  readonly requests: number;
  /** Of one executor's receipts in a batch, in millionths. */
  readonly drawRatePpm: number;
  readonly lockFactor: number;
  /** Orders that the cheat answers falsely; filled as orders are signed. */
  readonly lies: ReadonlySet<Hex>;
  /** Keys that the cheat may use up. */
  readonly cheatKeys: number;
}

export interface World {
  readonly anvil: Anvil;
  readonly client: SettlementClient;
  readonly provider: JsonRpcProvider;
  readonly policy: PolicyParameters;
  readonly requester: Wallet;
  readonly honest: readonly Hex[];
  /** In the order in which it uses them. */
  readonly cheat: readonly Hex[];
  readonly accounts: { readonly honest: readonly Hex[]; readonly cheat: Hex; readonly requester: Hex };
  /** Whose account stands behind a key. */
  readonly accountOf: (executor: Hex) => Hex;
  /** Everybody who ever has tokens, in the order of the balances. */
  readonly parties: readonly Hex[];
  readonly ports: PipelinePorts;
  balances(): Promise<Balances>;
  close(): Promise<void>;
}

const lower = (address: string): Hex => address.toLowerCase() as Hex;
const HONEST = 3;
const COINS = `0x${(10n ** 24n).toString(16)}`;

export async function startWorld(options: WorldOptions): Promise<World> {
  const { folder, bundle, requests, lockFactor } = options;
  const policy = experimentPolicy(lockFactor);
  const anvil = await startAnvil();
  const provider = await connectChain(anvil.url);
  provider.pollingInterval = 50;
  const account = (index: number): Wallet => new Wallet(anvilKey(index), provider);
  const [poster, requester, governor] = [account(0), account(4), account(7)];
  const auditors = [1, 2, 3].map(account).sort((a, b) => (lower(a.address) < lower(b.address) ? -1 : 1));
  const owners = [...Array.from({ length: HONEST }, (_, i) => `honest ${i}`), 'cheat'].map(
    (name) => new Wallet(id(`experiment: account ${name}`), provider),
  );
  const nodes: { port: ExecutorPort; close: () => Promise<void> }[] = [];
  try {
    const { rollup, policyHashes, fromBlock } = await deploySettlement(poster, {
      token: 'wrapped-native',
      court: {
        beaconDelay: 1,
        auditWindow: AUDIT_WINDOW_S,
        drawRatePpm: options.drawRatePpm,
        quorum: 2,
        auditors: auditors.map(({ address }) => lower(address)),
      },
      policies: [policy],
      governor: lower(governor.address),
      guardian: NOBODY,
      policyDelay: 60,
      maxFreeze: 60,
      coolDown: 60,
    });
    const client = await SettlementClient.connect({ provider, rollup, policyHash: policyHashes[0]!, fromBlock });
    const { escrow, domain } = client;
    const terms: ExecutorTerms = {
      lanes: ['sampled'],
      policies: [client.policyHash],
      clock: () => escrow.clock(),
    };

    const deposit = (amount: bigint, to: Hex): Call[] => [
      escrow.wrapCall(amount),
      escrow.approveCall(amount),
      escrow.depositCall(to, amount),
    ];
    const reserve = BigInt(requests) * policy.auditFee;
    const held = 2n * BigInt(requests) * PRICE;
    await sendAll(requester, [...deposit(held + reserve, lower(requester.address)), escrow.fundReserveCall(reserve)]);
    const locks = BigInt(Math.ceil(requests / 2)) * PRICE * BigInt(lockFactor);
    const addresses: Hex[][] = [];
    for (const [i, owner] of owners.entries()) {
      await provider.send('anvil_setBalance', [owner.address, COINS]);
      await sendAll(owner, deposit(locks, lower(owner.address)));
      const keys = i < HONEST ? 1 : options.cheatKeys;
      const own: Hex[] = [];
      for (let key = 0; key < keys; key++) {
        const signer = new Wallet(id(`experiment: node ${i} key ${key}`));
        const address = lower(signer.address);
        const signature = await signNodeRegistration(
          { account: lower(owner.address), signer: address },
          domain,
          signer,
        );
        await sendAll(owner, [escrow.registerNodeCall(address, signature)]);
        const home = join(folder, 'executors', `${i}-${key}`);
        mkdirSync(home, { recursive: true });
        const start = async (): Promise<Executor> => {
          const node = await ExecutorNode.start({
            identity: await openSigner(home, signer, { firstUse: true }),
            domain,
            traceFolder: join(home, 'traces'),
            threads: 1,
            engine: 'onnxruntime-cpu',
            terms,
          });
          return i < HONEST ? node : new LiesOn(node, new FlippedOutput(node, domain), domain, options.lies);
        };
        nodes.push(lazyNode(address, `operator ${i}`, start));
        own.push(address);
      }
      addresses.push(own);
    }
    await provider.send('evm_setIntervalMining', [BLOCK_TIME_S]);
    const checkers = await Promise.all(
      (['tfjs-wasm', 'reference'] as const).map(async (name, i) =>
        checkerFromEngine(await openEngine(name), {
          address: lower(new Wallet(anvilKey(5 + i)).address),
          operator: `checker ${i}`,
        }),
      ),
    );
    const bundles = await openBundleFolder(join(folder, 'models'));
    await bundles.add(bundle);
    const parties: Party[] = [...owners, requester, poster, governor, ...auditors].map(({ address }) => ({
      party: address,
      account: lower(address),
    }));
    const accountByKey = new Map(
      addresses.flatMap((keys, i) => keys.map((key) => [key, lower(owners[i]!.address)] as const)),
    );
    return {
      anvil,
      client,
      provider,
      policy,
      requester,
      honest: addresses.slice(0, HONEST).flat(),
      cheat: addresses[HONEST]!,
      accounts: {
        honest: owners.slice(0, HONEST).map(({ address }) => lower(address)),
        cheat: lower(owners[HONEST]!.address),
        requester: lower(requester.address),
      },
      ports: {
        executors: nodes.map(({ port }) => port),
        checkers,
        auditors: auditors.map((auditor) => auditorPort(auditor, lower(auditor.address), domain)),
        chain: settlementChain(client),
        poster: new Wallet(poster.privateKey),
        bundles,
      },
      accountOf: (executor) => accountByKey.get(executor)!,
      parties: parties.map(({ account: party }) => party),
      balances: () => balancesOf(client, parties),
      close: async () => {
        await Promise.all(nodes.map(({ close }) => close()));
        provider.destroy();
        await anvil.stop();
      },
    };
  } catch (error) {
    provider.destroy();
    await anvil.stop();
    throw error;
  }
}

/** A node that starts its thread when it is first asked for something: most of the cheat's keys are never used. */
function lazyNode(
  address: Hex,
  operator: string,
  start: () => Promise<Executor>,
): { port: ExecutorPort; close: () => Promise<void> } {
  let started: Promise<Executor> | undefined;
  const node = (): Promise<Executor> => (started ??= start());
  return {
    port: {
      address,
      engineName: 'onnxruntime-cpu',
      operator,
      acceptOrder: async (order, signature) => (await node()).accept(order, signature),
      execute: async (order, bundle, inputs) => (await node()).execute(order, bundle, inputs),
      signReceipt: async (receipt) => (await node()).sign(receipt),
    },
    close: async () => (await started)?.close(),
  };
}

/** Honest, but on the orders of a list: there it claims another output, as good as one can make it without the work. */
class LiesOn implements Executor {
  constructor(
    private readonly honest: Executor,
    private readonly liar: Executor,
    private readonly domain: SettlementClient['domain'],
    private readonly lies: ReadonlySet<Hex>,
  ) {}

  get address(): Hex {
    return this.honest.address;
  }
  get traces(): Executor['traces'] {
    return this.honest.traces;
  }
  get executions(): Executor['executions'] {
    return this.honest.executions;
  }
  execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    const lies = this.lies.has(hashOrder(order, this.domain));
    return (lies ? this.liar : this.honest).execute(order, bundle, inputs);
  }
  accept: Executor['accept'] = (order, signature) => this.honest.accept(order, signature);
  sign: Executor['sign'] = (receipt) => this.honest.sign(receipt);
  close(): Promise<void> {
    return this.honest.close();
  }
}

/** One after the other: each is estimated when those before it are mined. */
async function sendAll(sender: Wallet, calls: readonly Call[]): Promise<void> {
  const provider = sender.provider as JsonRpcProvider;
  for (const call of calls) {
    const { hash } = await sender.sendTransaction(call);
    // Asked for here: ethers' own wait may miss the only block of a chain that mines at once.
    while ((await provider.send('eth_getTransactionReceipt', [hash])) === null) await sleep(5);
  }
}
