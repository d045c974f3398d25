/**
 * Who plays in the demo: a chain with a fresh deployment, one honest executor and four that cheat, each with an account
 * behind it, a watcher, two checkers on two other engines, a prover, three auditors of whom two must agree, and the requester.
 *
 * Keys of chain accounts are anvil's, known to everybody: for a development chain only. Executors make their own.
 */
import { join } from 'node:path';
import { Wallet, type JsonRpcProvider } from 'ethers';
import {
  AlteredTrace,
  ExecutorNode,
  FlippedOutput,
  openEngine,
  openIdentity,
  SmallerModel,
  StaleAnswer,
  type Executor,
  type ExecutorTerms,
} from '../../executor/index.js';
import { batchInputRoot } from '../../circuits/batch/input-root.js';
import { recordHash } from '../../circuits/batch/record.js';
import { AssayError } from '../../common/errors.js';
import type { Tamper } from '../../fraud-proofs/step/inject.js';
import type { Bundle } from '../../graph/index.js';
import {
  auditorPort,
  batchProver,
  checkerFromEngine,
  executorPort,
  openBundleFolder,
  settlementChain,
  type CheckerPort,
  type PipelinePorts,
  type ProverNode,
} from '../../pipeline/index.js';
import { openingKey, srsIdOf } from '../../prover/srs/srs.js';
import type { Hex } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import type { SettlementClient } from '../../verifier-contracts/settlement-client.js';
import { batchVerifierOf } from '../../verifier-contracts/zk-verifier.js';
import { demoAccounts, deployDemo, fundDemo, lower, type NodeOwner } from './deployment.js';
import { alteredSlots } from './dispute-one.js';
import type { Party, Roles } from './money.js';
import type { PreparedCircuit } from './prove-batch.js';

export interface Player {
  readonly title: string;
  readonly executor: Executor;
  /** Holds its locks and earnings. */
  readonly account: Hex;
  readonly engine: string;
  readonly honest: boolean;
  /** In which it gets its orders. */
  readonly lane: 'sampled' | 'optimistic';
}

export interface Cast {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly client: SettlementClient;
  readonly requester: Wallet;
  readonly watcher: Wallet;
  readonly players: readonly Player[];
  /** All that ever have tokens. */
  readonly parties: readonly Party[];
  readonly roles: Roles;
  readonly ports: PipelinePorts;
  close(): Promise<void>;
}

/** Anvil's accounts that are the checkers' names; they need no money. */
const CHECKERS = [5, 6];
/** While blocks come at once. */
const SETUP_POLL_MS = 50;
/** What an executor's owner has, in wei: a hundred thousand coins. */
const COINS = `0x${(10n ** 23n).toString(16)}`;

/**
 * @param folder fresh data folder of the demo
 * @param bundle the model that is ordered; @param smaller the cheaper one that a cheat runs instead
 * @param prover closed with the cast
 * @param prepared circuit of the recursive batch and what the contract is told of it
 * @param lie what the executor alters that cheats in the optimistic lane
 * @param orders most that an executor will have
 * @param keepChain the chain goes on after `close`
 */
export async function startCast(
  folder: string,
  bundle: Bundle,
  smaller: Bundle,
  prover: ProverNode,
  { circuit, record }: PreparedCircuit,
  lie: Tamper,
  orders: (player: Pick<Player, 'honest' | 'lane'>) => number,
  keepChain: boolean,
): Promise<Cast> {
  // A block a second: time passes on this chain, as on a real one, whether anybody transacts or not.
  const anvil = await startAnvil({ blockTimeS: 1, ...(keepChain ? { stateDir: chainFolder(folder) } : {}) });
  const provider = await connectChain(anvil.url);
  const opening = openCheckers();
  // Not while contracts are deployed and accounts are funded: nobody wants to watch that.
  await provider.send('evm_setAutomine', [true]);
  const { pollingInterval } = provider;
  provider.pollingInterval = SETUP_POLL_MS;
  const accounts = demoAccounts(provider);
  const client = await deployDemo(provider, accounts, prover.srs, [record]);
  const contract = await batchVerifierOf(client.context, client.policy.verifier);
  if (contract === null) throw new AssayError('INTERNAL', 'the demo has deployed no verifier of batches');
  const srsId = srsIdOf(prover.srs);
  const place = { chainId: Number(client.domain.chainId), contract, keyHash: recordHash(record), srsId };
  const players = await startPlayers(folder, client, provider, smaller, lie, orders);
  await fundDemo(client, accounts, players);
  provider.pollingInterval = pollingInterval;
  await provider.send('evm_setIntervalMining', [1]);
  const checkers = await opening;
  const bundles = await openBundleFolder(join(folder, 'models'));
  await bundles.add(bundle);

  return {
    anvil,
    provider,
    client,
    requester: accounts.requester,
    watcher: accounts.watcher,
    players,
    parties: [
      { party: 'requester', account: lower(accounts.requester.address) },
      ...players.map(({ title, account }) => ({ party: `executor: ${title}`, account })),
      ...accounts.auditors.map(({ address }, i) => ({ party: `auditor ${i + 1}`, account: lower(address) })),
      { party: 'watcher', account: lower(accounts.watcher.address) },
      { party: 'poster', account: lower(accounts.poster.address) },
      { party: 'governor', account: lower(accounts.governor.address) },
    ],
    roles: {
      requester: lower(accounts.requester.address),
      governor: lower(accounts.governor.address),
      poster: lower(accounts.poster.address),
      watcher: lower(accounts.watcher.address),
      accountOf: new Map(players.map(({ executor, account }) => [executor.address, account])),
    },
    ports: {
      executors: players.map(({ executor, engine, title }) =>
        executorPort(executor, { engineName: engine, operator: title }),
      ),
      checkers,
      provers: [prover],
      batchProver: batchProver({
        srs: { kind: 'development', points: 2 ** circuit.shape.n },
        openingKey: openingKey(prover.srs),
        circuits: [{ circuit, place }],
      }),
      auditors: accounts.auditors.map((auditor) => auditorPort(auditor, lower(auditor.address), client.domain)),
      chain: settlementChain(client),
      poster: new Wallet(accounts.poster.privateKey),
      bundles,
    },
    close: async () => {
      await Promise.all([...players.map(({ executor }) => executor.close()), prover.close()]);
      provider.destroy();
      if (!keepChain) await anvil.stop();
    },
  };
}

function openCheckers(): Promise<CheckerPort[]> {
  return Promise.all(
    (['tfjs-wasm', 'reference'] as const).map(async (name, i) =>
      checkerFromEngine(await openEngine(name), {
        address: lower(new Wallet(anvilKey(CHECKERS[i]!)).address),
        operator: `checker ${i + 1}`,
      }),
    ),
  );
}

/** Where a chain that is kept leaves its state, and the note by which a later run finds it. */
export function chainFolder(folder: string): string {
  return join(folder, 'chain');
}

/** The player whose lie is for watchers to find. */
const ALTERS = 'altered-trace';

/** A player with what `fundDemo` needs of it. */
type FundedPlayer = Player & NodeOwner;

async function startPlayers(
  folder: string,
  { domain, policyHash, escrow }: SettlementClient,
  provider: JsonRpcProvider,
  smaller: Bundle,
  lie: Tamper,
  orders: (player: Pick<Player, 'honest' | 'lane'>) => number,
): Promise<FundedPlayer[]> {
  const roles: { name: string; title: string; play: (node: ExecutorNode) => Executor }[] = [
    { name: 'honest', title: 'honest', play: (node) => node },
    { name: 'smaller-model', title: 'runs a smaller model', play: (node) => new SmallerModel(node, domain, smaller) },
    { name: 'flipped-output', title: 'changes one output by one', play: (node) => new FlippedOutput(node, domain) },
    { name: 'stale-answer', title: 'repeats an old answer', play: (node) => new StaleAnswer(node, domain) },
    {
      name: ALTERS,
      title: 'alters its trace by one',
      play: (node) => new AlteredTrace(node, domain, (model, inputs, items) => alteredSlots(model, inputs, items, lie)),
    },
  ];
  const terms: ExecutorTerms = {
    lanes: ['sampled', 'optimistic', 'zk'],
    policies: [policyHash],
    clock: () => escrow.clock(),
  };
  return Promise.all(
    roles.map(async ({ name, title, play }) => {
      const home = join(folder, 'executors', name);
      const identity = await openIdentity(home);
      const owner = new Wallet(Wallet.createRandom().privateKey, provider);
      await provider.send('anvil_setBalance', [owner.address, COINS]);
      const node = await ExecutorNode.start({
        identity,
        domain,
        traceFolder: join(home, 'traces'),
        threads: 1,
        // Five nodes on one machine, and the checkers need other engines than theirs.
        engine: 'onnxruntime-cpu',
        terms,
        batchInputRoot: (model, inputs, items) => batchInputRoot(model.graph, inputs, items),
      });
      const honest = name === 'honest';
      const lane = name === ALTERS ? 'optimistic' : 'sampled';
      return {
        title,
        executor: play(node),
        engine: node.engine,
        honest,
        lane,
        account: lower(owner.address),
        owner,
        signer: identity.signer,
        orders: orders({ honest, lane }),
      };
    }),
  );
}
