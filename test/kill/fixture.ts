/**
 * A small deployment for tests: a hand-made integer model, executors with real keys and journals on the reference
 * evaluator, one of which cheats on demand, and checkers under the name of other engines, at the contracts of deploy.ts.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { AbiCoder, getBytes, id, Wallet, type JsonRpcProvider } from 'ethers';
import {
  executeJob,
  FlippedOutput,
  openSigner,
  TraceStore,
  type ExactSession,
  type ExecutionResult,
  type Executor,
  type ExecutorTerms,
  type Identity,
} from '../../executor/index.js';
import { checkAcceptable } from '../../executor/check-acceptable.js';
import { referenceEngine } from '../../executor/engines/reference.js';
import { GraphBuilder, inputRoot, makeBundle, type Bundle } from '../../graph/index.js';
import { hashOrder, hashReceipt, signAcceptance, signOrder, signReceipt } from '../../receipts/index.js';
import { modelKeyHash } from '../../prover/verifier/model-key.js';
import type { Hex, JobOrder, Lane, Receipt, ReceiptDomain } from '../../receipts/types.js';
import { auditorPort, checkerFromEngine, executorPort } from '../../pipeline/adapters/nodes.js';
import { settlementChain } from '../../pipeline/chain/settlement-chain.js';
import type { PipelinePorts } from '../../pipeline/pipeline.js';
import type { EncodeEvidence, ProverPort } from '../../pipeline/ports.js';
import type { OrderRequest } from '../../pipeline/submit.js';
import { anvilKey } from '../../verifier-contracts/anvil.js';
import { connectChain } from '../../verifier-contracts/connect-chain.js';
import { SettlementClient } from '../../verifier-contracts/settlement-client.js';

/** y = W x + b, 4 -> 3, with a requantisation and a maximum: every kind of commitment has something to hold. */
export function tinyBundle(): Bundle {
  const builder = new GraphBuilder();
  const x = builder.addInput('x', [4], { lo: -8, hi: 7 }, 1, 0);
  const weight = Int8Array.from([1, -2, 3, 4, -5, 6, 7, -8, 9, 1, -1, 2]);
  const linear = builder.add({
    kind: 'matmul',
    name: 'linear',
    x,
    outFeatures: 3,
    inFeatures: 4,
    weight,
    bias: Int32Array.of(3, -1, 2),
  });
  const table = { kind: 'clamp', qLo: -98, qHi: 97, lo: -128, hi: 127 } as const;
  const y = builder.add({
    kind: 'requant',
    name: 'quantise',
    x: linear,
    multipliers: Int32Array.of(2 ** 23),
    channelAxis: null,
    table,
  });
  const graph = builder.finish('tiny', [y]);
  const agreement = { samples: 0, labelAgreement: null, maxAbsError: 0, meanAbsError: 0 };
  return makeBundle({
    graph,
    inputs: [{ name: 'x', type: 'float32', shape: [1, 4], batched: true }],
    outputs: [{ name: 'y', type: 'float32', shape: [1, 3], batched: true }],
    sourceHash: `0x${'00'.repeat(32)}`,
    report: {
      modelName: 'tiny',
      opset: 17,
      parameters: 15,
      macs: 12,
      nodes: [],
      tensors: [],
      calibration: agreement,
      heldOut: null,
      tableRows: [],
      largestAccumulator: { tensor: 'linear', magnitude: 150 },
      warnings: [],
    },
  });
}

/** The bundle with the key that the prover's proofs about it are checked with: only such a one can be proved. */
export async function withKey(bundle: Bundle, prover: Pick<ProverPort, 'keyOf'>): Promise<Bundle> {
  return makeBundle({ ...bundle, modelKeyHash: modelKeyHash(await prover.keyOf(bundle)) });
}

/** Points of the development reference string that proofs about `tinyBundle` need. */
export const TINY_SRS_POINTS = 2 ** 12;

/** An executor without a thread of its own, so that a process of the kill test starts fast. Key and journal are real. */
export class LocalExecutor implements Executor {
  readonly address: Hex;
  readonly traces: TraceStore;
  private session: Promise<ExactSession> | undefined;

  constructor(
    private readonly identity: Identity,
    private readonly domain: ReceiptDomain,
    folder: string,
    private readonly terms: ExecutorTerms,
  ) {
    this.address = identity.address;
    this.traces = new TraceStore(join(folder, 'traces'));
  }

  async execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    this.session ??= referenceEngine().loadExact(bundle);
    const execution = await executeJob(await this.session, bundle, inputs, order.items);
    await this.traces.put('trace', execution.traceRoot, execution.slots, order.items);
    return {
      ...execution,
      inputRoot: order.inputRoot,
      orderHash: hashOrder(order, this.domain),
      modelDigest: order.modelDigest,
      items: order.items,
      engine: 'reference',
      elapsedMs: 0,
    };
  }

  async accept(order: JobOrder, signature: Hex): Promise<Hex> {
    const { journal, signer } = this.identity;
    const { domain, terms, address: executor } = this;
    await checkAcceptable(order, signature, { executor, domain, terms });
    return journal.acceptOnce(hashOrder(order, domain), () => signAcceptance(order, domain, signer));
  }

  sign(receipt: Receipt): Promise<Hex> {
    const { journal, signer } = this.identity;
    return journal.signOnce(receipt.orderHash, hashReceipt(receipt, this.domain), () =>
      signReceipt(receipt, this.domain, signer),
    );
  }

  close(): Promise<void> {
    return this.identity.journal.close();
  }
}

const keyOf = (name: string): Hex => id(name) as Hex;
export const requester = new Wallet(keyOf('requester'));
/** Strictly ascending by address, as the policy wants them. */
export const auditors = ['auditor one', 'auditor two', 'auditor three']
  .map((name) => new Wallet(keyOf(name)))
  .sort((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1));

export interface TestDeployment {
  readonly ports: PipelinePorts;
  readonly client: SettlementClient;
  readonly provider: JsonRpcProvider;
  readonly honest: LocalExecutor;
  readonly cheat: LocalExecutor;
  close(): Promise<void>;
}

export interface TestDeploymentOptions {
  readonly directory: string;
  readonly url: string;
  readonly rollup: Hex;
  readonly bundle: Bundle;
  /** Whose executors these are: a cheat is suspended on chain for ever, so that each test has one of its own. */
  readonly name: string;
  /** Anvil account that posts. */
  readonly posterAccount?: number;
  /** Which executors are connected; the cheat answers with a changed output on inputs whose first element is 7. */
  readonly executors?: readonly ('honest' | 'cheat')[];
}

/** The keys of the executors of that name. */
export const executorWallets = (name: string): Record<'honest' | 'cheat', Wallet> => ({
  honest: new Wallet(keyOf(`executor honest ${name}`)),
  cheat: new Wallet(keyOf(`executor cheat ${name}`)),
});

/** Connects to contracts at which `enrol` has been called for that name. */
export async function connectDeployment(options: TestDeploymentOptions): Promise<TestDeployment> {
  const { directory, bundle } = options;
  const provider = await connectChain(options.url);
  const client = await SettlementClient.connect({ provider, rollup: options.rollup });
  const terms: ExecutorTerms = {
    lanes: ['sampled', 'optimistic', 'zk'],
    policies: [client.policyHash],
    clock: () => client.escrow.clock(),
  };
  const wallets = executorWallets(options.name);
  const executorOf = async (kind: 'honest' | 'cheat') => {
    const folder = join(directory, `executor ${kind}`);
    mkdirSync(folder, { recursive: true });
    return new LocalExecutor(await openSigner(folder, wallets[kind], { firstUse: true }), client.domain, folder, terms);
  };
  const honest = await executorOf('honest');
  const cheat = await executorOf('cheat');
  const wanted = options.executors ?? ['honest', 'cheat'];
  const cheating = new CheatOnSeven(cheat, client.domain);
  const ports: PipelinePorts = {
    executors: [
      ...(wanted.includes('cheat')
        ? [executorPort(cheating, { engineName: 'reference', operator: 'operator cheat' })]
        : []),
      ...(wanted.includes('honest')
        ? [executorPort(honest, { engineName: 'reference', operator: 'operator honest' })]
        : []),
    ],
    // Other engines by name: which engines a machine has is not what these tests are about.
    checkers: (['onnxruntime-cpu', 'tfjs-wasm', 'onnxruntime-webgpu'] as const).map((name) =>
      checkerFromEngine(
        { ...referenceEngine(), name },
        { address: new Wallet(keyOf(`checker ${name}`)).address.toLowerCase() as Hex, operator: `operator ${name}` },
      ),
    ),
    auditors: auditors.map((signer) => auditorPort(signer, signer.address.toLowerCase() as Hex, client.domain)),
    chain: settlementChain(client),
    encodeEvidence: toldEvidence,
    poster: new Wallet(anvilKey(options.posterAccount ?? 0)),
    bundles: { get: async () => bundle },
  };
  return {
    ports,
    client,
    provider,
    honest,
    cheat,
    close: async () => {
      await Promise.all([honest.close(), cheat.close()]);
      provider.destroy();
    },
  };
}

/** What HarnessVerifier.sol takes for a proof: the claims themselves. */
const toldEvidence: EncodeEvidence = ({ receipt: { modelDigest, items, inputRoot, outputRoot, orderHash } }) =>
  getBytes(
    AbiCoder.defaultAbiCoder().encode(
      ['tuple(bytes32, uint32, bytes32, bytes32, bytes32)[]'],
      [[[modelDigest, items, inputRoot, outputRoot, orderHash]]],
    ),
  );

export const CHEAT_ON = 7;

/** Honest but on inputs that begin with 7: there, another output, in range, with a trace that agrees with it. */
class CheatOnSeven implements Executor {
  constructor(
    private readonly honest: LocalExecutor,
    domain: ReceiptDomain,
  ) {
    this.flipped = new FlippedOutput(honest, domain);
  }
  private readonly flipped: FlippedOutput;

  get address(): Hex {
    return this.honest.address;
  }
  get traces(): TraceStore {
    return this.honest.traces;
  }
  execute(order: JobOrder, bundle: Bundle, inputs: readonly Int32Array[]): Promise<ExecutionResult> {
    return (inputs[0]![0] === CHEAT_ON ? this.flipped : this.honest).execute(order, bundle, inputs);
  }
  accept(order: JobOrder, signature: Hex): Promise<Hex> {
    return this.honest.accept(order, signature);
  }
  sign(receipt: Receipt): Promise<Hex> {
    return this.honest.sign(receipt);
  }
  close(): Promise<void> {
    return this.honest.close();
  }
}

/** What an order pays towards audits, where every receipt is drawn. */
const SURCHARGE = 10_000n;
export const PRICE = 1_000n;

/** A signed order for one item, the same for the same arguments, so that a restarted process can ask for it again. */
export async function orderFor(
  client: Pick<SettlementClient, 'domain' | 'policyHash'>,
  bundle: Bundle,
  executor: Hex,
  first: number,
  nonce: number,
  lane: Lane = 'sampled',
  change: Partial<JobOrder> = {},
): Promise<OrderRequest> {
  const inputs = [Int32Array.of(first, (nonce % 15) - 7, ((nonce * 7) % 15) - 7, ((nonce * 3) % 15) - 7)];
  const order: JobOrder = {
    requester: requester.address.toLowerCase() as Hex,
    executor,
    modelDigest: bundle.digest as Hex,
    inputRoot: inputRoot(bundle.graph, inputs, 1) as Hex,
    items: 1,
    lane,
    policyHash: client.policyHash,
    price: PRICE,
    surcharge: lane === 'sampled' ? SURCHARGE : 0n,
    outputBytes: 16,
    deliverBy: 4_000_000_000,
    validUntil: 4_000_000_000,
    nonce: BigInt(nonce),
    ...change,
  };
  return { order, inputs, signature: await signOrder(order, client.domain, requester) };
}
