/**
 * Who plays in the demo: a chain with a fresh rollup, one honest executor and three that cheat, two checkers on two other
 * engines, a prover, three auditors of whom two must agree, and the requester.
 *
 * Keys of chain accounts are anvil's, known to everybody: for a development chain only. Executors make their own.
 */
import { join } from 'node:path';
import { NonceManager, Wallet, type JsonRpcProvider } from 'ethers';
import {
  ExecutorNode,
  FlippedOutput,
  openEngine,
  openIdentity,
  SmallerModel,
  StaleAnswer,
  type Executor,
} from '../../executor/index.js';
import type { Bundle } from '../../graph/index.js';
import {
  auditorPort,
  checkerFromEngine,
  executorPort,
  openBundleFolder,
  rollupChain,
  type PipelinePorts,
  type ProverNode,
} from '../../pipeline/index.js';
import type { Hex, ReceiptDomain } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { deployRollup } from '../../verifier-contracts/deploy.js';
import { RollupClient } from '../../verifier-contracts/rollup-client.js';

export interface Player {
  readonly title: string;
  readonly executor: Executor;
  readonly engine: string;
  readonly honest: boolean;
}

export interface Cast {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly client: RollupClient;
  readonly requester: Wallet;
  readonly players: readonly Player[];
  readonly ports: PipelinePorts;
  close(): Promise<void>;
}

/** A quarter of every executor's receipts in a batch is audited, at least one; who is caught has all of them audited. */
const DRAW_RATE_PPM = 250_000;
const POSTER = 0;
const AUDITORS = [1, 2, 3];
const REQUESTER = 4;
const CHECKERS = [5, 6];

/**
 * @param folder fresh data folder of the demo
 * @param bundle the model that is ordered; @param smaller the cheaper one that a cheat runs instead
 * @param prover closed with the cast
 * @param keepChain the chain goes on after `close`
 */
export async function startCast(
  folder: string,
  bundle: Bundle,
  smaller: Bundle,
  prover: ProverNode,
  keepChain: boolean,
): Promise<Cast> {
  // A block a second: time passes on this chain, as on a real one, whether anybody transacts or not.
  const anvil = await startAnvil({ blockTimeS: 1, ...(keepChain ? { stateDir: chainFolder(folder) } : {}) });
  const provider = await connectChain(anvil.url);
  const poster = new Wallet(anvilKey(POSTER), provider);
  const auditors = AUDITORS.map((account) => new Wallet(anvilKey(account))).sort((a, b) =>
    lower(a.address) < lower(b.address) ? -1 : 1,
  );
  const { address } = await deployRollup(new NonceManager(poster), {
    beaconDelay: 1,
    auditWindow: 8_000,
    drawRatePpm: DRAW_RATE_PPM,
    quorum: 2,
    auditors: auditors.map((auditor) => lower(auditor.address)),
  });
  const client = await RollupClient.connect({ provider, address });
  const players = await startPlayers(folder, client.domain, smaller);
  const bundles = await openBundleFolder(join(folder, 'models'));
  await bundles.add(bundle);

  const checkers = await Promise.all(
    (['tfjs-wasm', 'reference'] as const).map(async (name, i) =>
      checkerFromEngine(await openEngine(name), {
        address: lower(new Wallet(anvilKey(CHECKERS[i]!)).address),
        operator: `checker ${i + 1}`,
      }),
    ),
  );
  return {
    anvil,
    provider,
    client,
    requester: new Wallet(anvilKey(REQUESTER)),
    players,
    ports: {
      executors: players.map(({ executor, engine, title }) =>
        executorPort(executor, { engineName: engine, operator: title }),
      ),
      checkers,
      provers: [prover],
      auditors: auditors.map((auditor) => auditorPort(auditor, lower(auditor.address), client.domain)),
      chain: rollupChain(client),
      poster: new Wallet(anvilKey(POSTER)),
      bundles,
    },
    close: async () => {
      await Promise.all([...players.map(({ executor }) => executor.close()), prover.close()]);
      provider.destroy();
      if (!keepChain) await anvil.stop();
    },
  };
}

/** Where a chain that is kept leaves its state, and the note by which a later run finds it. */
export function chainFolder(folder: string): string {
  return join(folder, 'chain');
}

async function startPlayers(folder: string, domain: ReceiptDomain, smaller: Bundle): Promise<Player[]> {
  const roles: { name: string; title: string; play: (node: ExecutorNode) => Executor }[] = [
    { name: 'honest', title: 'honest', play: (node) => node },
    { name: 'smaller-model', title: 'runs a smaller model', play: (node) => new SmallerModel(node, domain, smaller) },
    { name: 'flipped-output', title: 'changes one output by one', play: (node) => new FlippedOutput(node, domain) },
    { name: 'stale-answer', title: 'repeats an old answer', play: (node) => new StaleAnswer(node, domain) },
  ];
  return Promise.all(
    roles.map(async ({ name, title, play }) => {
      const home = join(folder, 'executors', name);
      const node = await ExecutorNode.start({
        identity: await openIdentity(home),
        domain,
        traceFolder: join(home, 'traces'),
        threads: 1,
        // Four nodes on one machine, and the checkers need other engines than theirs.
        engine: 'onnxruntime-cpu',
      });
      return { title, executor: play(node), engine: node.engine, honest: name === 'honest' };
    }),
  );
}

function lower(address: string): Hex {
  return address.toLowerCase() as Hex;
}
