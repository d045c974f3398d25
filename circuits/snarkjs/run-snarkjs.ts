import { runInProcess, type OnProgress } from '../run-apart.js';
import type { ProvedResult, SnarkjsResult, SnarkjsTask } from './types.js';

const PROCESS = new URL('./snarkjs-process', import.meta.url);

/** Runs one task of snarkjs in a process of its own. @throws AssayError as the task says. */
export async function runSnarkjs(task: SnarkjsTask, onProgress?: OnProgress): Promise<SnarkjsResult> {
  return runInProcess<SnarkjsTask, SnarkjsResult>(PROCESS, task, onProgress);
}

export const isProved = (result: SnarkjsResult): result is ProvedResult => result.kind === 'proved';
