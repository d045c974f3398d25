/** Where a watcher gets what the chain does not hold: models, inputs, traces. Nothing that comes from here is trusted. */
import { AssayError } from '../../common/errors.js';
import { committedTensors, type Bundle } from '../../graph/index.js';
import type { Hex } from '../../receipts/types.js';
import { portsRoot } from '../nodes/full-trace.js';
import { KnownTensor } from '../nodes/known-tensor.js';
import { decodeTensors, type TensorsOfFile } from './tensor-file.js';

/** Bundles by digest; each has been checked against it (reading a bundle recomputes its digest). */
export type Models = (digest: Hex) => Promise<Bundle | null>;

/** Bytes in the form of tensor-file.ts, or null where the source has none; @throws AssayError where it fails. */
export type FileSource = (kind: 'traces' | 'inputs', root: Hex) => Promise<Uint8Array | null>;

/** All slots of an execution, in the order of `slotsOf(graph)`, whichever of them a trace commits. */
export type Engine = (bundle: Bundle, inputs: readonly Int32Array[], items: number) => Promise<readonly Int32Array[]>;

/** The largest file that is read: the 2^26 elements of four bytes that fit a trace of a model worth watching here. */
const MOST_BYTES = 2 ** 28;
const ANSWER_TIME_MS = 30_000;

/**
 * Inputs under this root, from the first source that has them.
 * @returns null where none has; a source that fails, or gives something else, counts as having none. Elements may lie
 * outside of their declared range: whoever committed to such inputs is to be shown it.
 */
export async function findInputs(
  sources: readonly FileSource[],
  bundle: Bundle,
  root: Hex,
): Promise<TensorsOfFile | null> {
  const { graph } = bundle;
  const infos = graph.inputs.map((id) => graph.tensors[id]!);
  return firstThat(sources, 'inputs', root, (bytes) => {
    const found = decodeTensors(infos, bytes);
    const roots = found.tensors.map((data, i) => KnownTensor.of(infos[i]!, data, found.items).root()!);
    return portsRoot(0, roots) === root ? found : null;
  });
}

/** The committed slots that an executor serves for a trace root; not yet compared with it. */
export async function findTrace(
  sources: readonly FileSource[],
  bundle: Bundle,
  root: Hex,
): Promise<TensorsOfFile | null> {
  const infos = committedTensors(bundle.graph, bundle.committedSlots).map((id) => bundle.graph.tensors[id]!);
  return firstThat(sources, 'traces', root, (bytes) => decodeTensors(infos, bytes));
}

async function firstThat<T>(
  sources: readonly FileSource[],
  kind: 'traces' | 'inputs',
  root: Hex,
  read: (bytes: Uint8Array) => T | null,
): Promise<T | null> {
  for (const source of sources) {
    try {
      const bytes = await source(kind, root);
      const found = bytes === null ? null : read(bytes);
      if (found !== null) return found;
    } catch (error) {
      // What one source gets wrong another may have right.
      if (!(error instanceof AssayError)) throw error;
    }
  }
  return null;
}

/** A server of answer/serve-traces.ts. @param url with or without a slash at its end */
export function traceServer(url: string): FileSource {
  return async (kind, root) => {
    const failed = (reason: string): AssayError =>
      new AssayError('TRACE_SERVER_FAILED', `${new URL(url).host}: ${kind}/${root}: ${reason}`);
    let response: Response;
    try {
      response = await fetch(`${url.replace(/\/$/, '')}/${kind}/${root}`, {
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_TIME_MS),
      });
      if (response.status === 404) return null;
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
        size += part.length;
        if (size > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`);
        parts.push(part);
      }
      return Buffer.concat(parts);
    } catch (error) {
      throw failed((error as Error).message);
    }
  };
}
