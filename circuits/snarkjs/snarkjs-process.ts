/** The process in which snarkjs works: it starts a thread per core and holds the proving key. */
import * as snarkjs from 'snarkjs';
import { AssayError } from '../../common/errors.js';
import { resourcesUsed, serveTask, type OnProgress } from '../run-apart.js';
import type { SnarkjsResult, SnarkjsTask } from './types.js';

async function run(task: SnarkjsTask, progress: OnProgress): Promise<SnarkjsResult> {
  const problems: string[] = [];
  const logger: snarkjs.Logger = {
    debug: progress,
    info: progress,
    warn: progress,
    error: (text) => void problems.push(text),
  };
  const failed = (what: string): AssayError =>
    new AssayError('CIRCUIT_KEY_INVALID', `${what}: ${problems.join('; ') || 'snarkjs gives no reason'}`);
  switch (task.kind) {
    case 'prove': {
      const witness: snarkjs.MemoryFile = { type: 'mem' };
      const program: snarkjs.MemoryFile = { type: 'mem', data: task.witnessProgram };
      const started = performance.now();
      await snarkjs.wtns.calculate(task.inputs, program, witness).catch((cause: unknown) => {
        throw new AssayError('PROOF_INVALID', `the circuit refuses the witness: ${(cause as Error).message}`, {
          cause,
        });
      });
      const witnessMs = performance.now() - started;
      const { proof, publicSignals } = await snarkjs.groth16.prove(task.provingKey, witness, logger);
      const proveMs = performance.now() - started - witnessMs;
      return { kind: 'proved', proof, publicSignals, witnessMs, proveMs, ...resourcesUsed() };
    }
    case 'set up':
      if ((await snarkjs.zKey.newZKey(task.r1cs, task.ptau, task.to, logger)) === -1)
        throw failed(`${task.ptau} does not serve this circuit`);
      return { kind: 'done' };
    case 'contribute':
      await snarkjs.zKey.contribute(task.from, task.to, task.name, task.entropy, logger);
      return { kind: 'done' };
    case 'beacon':
      await snarkjs.zKey.beacon(task.from, task.to, task.name, task.hash, task.iterationsExponent, logger);
      return { kind: 'done' };
    case 'verify':
      if (!(await snarkjs.zKey.verifyFromR1cs(task.r1cs, task.ptau, task.key, logger)))
        throw failed(`${task.key} is not a key of this circuit made from ${task.ptau}`);
      return { kind: 'done' };
  }
}

serveTask(run);
