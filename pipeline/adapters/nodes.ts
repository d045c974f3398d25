/** Executors, checkers and auditors of this machine as the pipeline's ports. */
import type { Signer } from 'ethers';
import { executeJob, predictExactBytes, SessionCache, type Engine, type Executor } from '../../executor/index.js';
import { inputRoot } from '../../graph/index.js';
import type { Hex, JobOrder, ReceiptDomain } from '../../receipts/types.js';
import { signVerdict } from '../../verifier-contracts/audit-verdict.js';
import type { AuditorPort, CheckerPort, ExecutorPort, NodePort } from '../ports.js';

/** An executor node, or an adversary, which keeps its traces itself. */
export function executorPort(executor: Executor, node: Pick<NodePort, 'engineName' | 'operator'>): ExecutorPort {
  return {
    address: executor.address,
    engineName: node.engineName,
    operator: node.operator,
    execute: async (order, bundle, inputs) => {
      const { inputRoot, outputRoot, traceRoot, opCount, outputs } = await executor.execute(order, bundle, inputs);
      return { inputRoot, outputRoot, traceRoot, opCount, outputs };
    },
    acceptOrder: (order, signature) => executor.accept(order, signature),
    signReceipt: (receipt) => executor.sign(receipt),
  };
}

const NO_POLICY: Hex = `0x${'00'.repeat(32)}`;
const DEFAULT_BUDGET_BYTES = 2 ** 30;

/**
 * A checker that re-executes on an executor node of its own: in a thread of its own, within the node's memory budget.
 * The way for models of any size.
 */
export function checkerFromExecutor(executor: Executor, node: Pick<NodePort, 'engineName' | 'operator'>): CheckerPort {
  return {
    address: executor.address,
    engineName: node.engineName,
    operator: node.operator,
    check: async (bundle, inputs, items) => {
      // A node runs orders: this one is for itself, signed by nobody and paid for by nobody.
      const order: JobOrder = {
        requester: executor.address,
        executor: executor.address,
        modelDigest: bundle.digest as Hex,
        inputRoot: inputRoot(bundle.graph, inputs, items) as Hex,
        items,
        lane: 'sampled',
        policyHash: NO_POLICY,
        price: 0n,
        surcharge: 0n,
        outputBytes: 0,
        deliverBy: 0,
        validUntil: 0,
        nonce: 0n,
      };
      const { outputRoot, traceRoot } = await executor.execute(order, bundle, inputs);
      return { inputRoot: order.inputRoot, outputRoot, traceRoot };
    },
  };
}

/**
 * A checker that re-executes on an engine in the caller's thread: while it computes, the pipeline stands still. For
 * models of some million multiply-accumulates; a bigger one is the matter of an `ExecutorNode` and `checkerFromExecutor`.
 * @param memoryBudgetBytes of all its sessions together; the least recently used are closed for others. A model that
 * does not fit alone is MODEL_TOO_LARGE.
 */
export function checkerFromEngine(
  engine: Engine,
  node: Pick<NodePort, 'address' | 'operator'>,
  memoryBudgetBytes = DEFAULT_BUDGET_BYTES,
): CheckerPort {
  const sessions = new SessionCache(memoryBudgetBytes);
  return {
    address: node.address,
    engineName: engine.name,
    operator: node.operator,
    check: async (bundle, inputs, items) => {
      const { session, release } = await sessions.acquire(
        { engine: engine.name, model: bundle.digest, kind: 'exact' },
        predictExactBytes(bundle.graph, items),
        () => engine.loadExact(bundle),
      );
      try {
        const { inputRoot, outputRoot, traceRoot } = await executeJob(session, bundle, inputs, items);
        return { inputRoot, outputRoot, traceRoot };
      } finally {
        release();
      }
    },
  };
}

/** An auditor that signs what the pipeline's audit found. @param signer whose address is in the list of the policy's court */
export function auditorPort(signer: Signer, address: Hex, domain: ReceiptDomain): AuditorPort {
  return { address, signVerdict: (verdict) => signVerdict(verdict, domain, signer) };
}
