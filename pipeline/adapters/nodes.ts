/** Executors, checkers and auditors of this machine as the pipeline's ports. */
import type { Signer } from 'ethers';
import { executeJob, type Engine, type ExactSession, type Executor } from '../../executor/index.js';
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
    signReceipt: (receipt) => executor.sign(receipt),
  };
}

/** A checker that re-executes on an executor node of its own. */
export function checkerFromExecutor(executor: Executor, node: Pick<NodePort, 'engineName' | 'operator'>): CheckerPort {
  return {
    address: executor.address,
    engineName: node.engineName,
    operator: node.operator,
    check: async (bundle, inputs, items, posted) => {
      // A node runs orders: this one is for itself, signed by nobody and paid for by nobody.
      const order: JobOrder = {
        requester: executor.address,
        modelDigest: bundle.digest as Hex,
        inputRoot: posted.inputRoot,
        items,
        lane: 'sampled',
        policyHash: posted.policyHash,
        price: 0n,
        deliverBy: 0,
        nonce: 0n,
      };
      const { inputRoot, outputRoot, traceRoot } = await executor.execute(order, bundle, inputs);
      return { inputRoot, outputRoot, traceRoot };
    },
  };
}

/** A checker that re-executes on an engine in this thread; meant for small models. Sessions stay open for its life. */
export function checkerFromEngine(engine: Engine, node: Pick<NodePort, 'address' | 'operator'>): CheckerPort {
  const sessions = new Map<string, Promise<ExactSession>>();
  return {
    address: node.address,
    engineName: engine.name,
    operator: node.operator,
    check: async (bundle, inputs, items) => {
      let session = sessions.get(bundle.digest);
      if (session === undefined) {
        session = engine.loadExact(bundle);
        sessions.set(bundle.digest, session);
        session.catch(() => sessions.delete(bundle.digest));
      }
      const { inputRoot, outputRoot, traceRoot } = await executeJob(await session, bundle, inputs, items);
      return { inputRoot, outputRoot, traceRoot };
    },
  };
}

/** An auditor that signs what the pipeline's audit found. @param signer whose address is in the deployment's policy */
export function auditorPort(signer: Signer, address: Hex, domain: ReceiptDomain): AuditorPort {
  return { address, signVerdict: (verdict) => signVerdict(verdict, domain, signer) };
}
