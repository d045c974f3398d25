import { runInThread } from '../run-apart.js';
import type { JointTask } from './joint-worker.js';
import type { JointProof } from './prove-joint.js';

/** A joint proof in a thread of its own, which gives back all memory at its end. @throws AssayError as proveJoint. */
export const proveJointApart = (task: JointTask): Promise<JointProof> =>
  runInThread<JointTask, JointProof>(new URL('./joint-worker', import.meta.url), task);
