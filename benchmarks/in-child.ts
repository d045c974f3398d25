/** One measurement in a process of its own: cold caches of nobody else, and a peak of memory that is its own. */
import { fork } from 'node:child_process';
import { AssayError } from '../common/errors.js';
import type { Measurements } from './child.js';

/**
 * Runs one of the measurements of child.ts.
 * @throws AssayError INTERNAL where it failed, with what it said.
 */
export function inChild<K extends keyof Measurements>(
  kind: K,
  task: Parameters<Measurements[K]>[0],
): Promise<Awaited<ReturnType<Measurements[K]>>> {
  const fromSource = import.meta.url.endsWith('.ts');
  const entry = new URL(fromSource ? './child.ts' : './child.js', import.meta.url);
  const execArgv = fromSource ? ['--import', import.meta.resolve('tsx')] : [];
  return new Promise((resolve, reject) => {
    const child = fork(entry, { execArgv, serialization: 'advanced', stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let said = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.once('message', (result) => resolve(result as Awaited<ReturnType<Measurements[K]>>));
    child.once('error', reject);
    child.once('close', (code) =>
      reject(new AssayError('INTERNAL', `the measurement '${kind}' ended with code ${code}: ${said}`)),
    );
    child.send({ kind, task });
  });
}
