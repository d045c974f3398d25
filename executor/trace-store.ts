/**
 * Traces and results on disk, each under the root that commits to it.
 *
 * A file holds tensors (the slots that a trace commits, in the order of its leaves, or the graph outputs of a result):
 *   magic "ASTR" | uint8 version 1 | uint8 kind (0 trace, 1 result) | uint32 items | uint32 count |
 *   per tensor: uint8 width (1, 2 or 4 bytes) | uint32 elements | elements, signed little-endian.
 * The width is the least that holds the tensor's values, which makes a file a quarter of the size in memory.
 *
 * Reading computes the root again: what comes back is what was committed, or a typed error, whatever happened to
 * the file meanwhile.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { asAssayError, AssayError } from '../common/errors.js';
import { outputRoot, traceRoot } from '../graph/index.js';
import type { Bundle } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import { writeDurably } from './durable-file.js';

export type StoredKind = 'trace' | 'result';

export interface StoredTensors {
  readonly tensors: Int32Array[];
  readonly items: number;
}

const MAGIC = 'ASTR';
const VERSION = 1;
const KINDS: readonly StoredKind[] = ['trace', 'result'];
const HEADER_BYTES = 14;

export class TraceStore {
  /** @param folder is made on the first write. */
  constructor(readonly folder: string) {}

  /** @throws AssayError STORE_FULL. */
  async put(kind: StoredKind, root: Hex, tensors: readonly Int32Array[], items: number): Promise<void> {
    // The root names the content, so a file that is there already holds the same. A damaged one is replaced.
    if (await this.has(kind, root)) {
      const bytes = await readFile(this.path(kind, root));
      if (Buffer.compare(bytes, encode(kind, tensors, items)) === 0) return;
    }
    await writeDurably(this.path(kind, root), encode(kind, tensors, items));
  }

  async has(kind: StoredKind, root: Hex): Promise<boolean> {
    try {
      return (await stat(this.path(kind, root))).isFile();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  /**
   * @param bundle the model that the trace is of; its graph says what the tensors are.
   * @throws AssayError TRACE_NOT_FOUND, TRACE_CORRUPT.
   */
  async get(kind: StoredKind, root: Hex, bundle: Bundle): Promise<StoredTensors> {
    const path = this.path(kind, root);
    let bytes: Buffer;
    try {
      bytes = await readFile(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new AssayError('TRACE_NOT_FOUND', `no ${kind} with root ${root} in ${this.folder}`, {
        meta: { kind, root, folder: this.folder },
        cause: error,
      });
    }
    const stored = decode(bytes, kind, path);
    const { graph, committedSlots } = bundle;
    let found: string;
    try {
      found =
        kind === 'trace'
          ? traceRoot(graph, stored.tensors, stored.items, committedSlots)
          : outputRoot(graph, stored.tensors, stored.items);
    } catch (error) {
      throw corrupt(path, `its tensors are none of model ${bundle.graph.name}: ${asAssayError(error).message}`, error);
    }
    if (found !== root) throw corrupt(path, `expected root ${root}, found ${found}`);
    return stored;
  }

  path(kind: StoredKind, root: Hex): string {
    if (!/^0x[0-9a-f]{64}$/.test(root)) {
      throw new AssayError('TRACE_NOT_FOUND', `${JSON.stringify(root)} is not a root: expected 0x and 64 hex digits`);
    }
    return join(this.folder, `${kind}s`, root.slice(2, 4), `${root.slice(2)}.${kind}`);
  }
}

function encode(kind: StoredKind, tensors: readonly Int32Array[], items: number): Buffer {
  const widths = tensors.map(leastWidth);
  const size = tensors.reduce((sum, tensor, index) => sum + 5 + tensor.length * widths[index]!, HEADER_BYTES);
  const bytes = Buffer.alloc(size);
  bytes.write(MAGIC, 'latin1');
  bytes[4] = VERSION;
  bytes[5] = KINDS.indexOf(kind);
  bytes.writeUInt32LE(items, 6);
  bytes.writeUInt32LE(tensors.length, 10);
  let at = HEADER_BYTES;
  tensors.forEach((tensor, index) => {
    const width = widths[index]!;
    bytes[at] = width;
    bytes.writeUInt32LE(tensor.length, at + 1);
    at += 5;
    // Typed arrays are little-endian on every platform that the engines are built for.
    const narrow = width === 1 ? Int8Array.from(tensor) : width === 2 ? Int16Array.from(tensor) : tensor;
    bytes.set(new Uint8Array(narrow.buffer, narrow.byteOffset, narrow.byteLength), at);
    at += narrow.byteLength;
  });
  return bytes;
}

function leastWidth(tensor: Int32Array): 1 | 2 | 4 {
  let width: 1 | 2 | 4 = 1;
  for (const value of tensor) {
    if (value < -32768 || value > 32767) return 4;
    if (value < -128 || value > 127) width = 2;
  }
  return width;
}

function decode(bytes: Buffer, kind: StoredKind, path: string): StoredTensors {
  if (bytes.length < HEADER_BYTES || bytes.toString('latin1', 0, 4) !== MAGIC)
    throw corrupt(path, 'it is no trace file');
  if (bytes[4] !== VERSION) throw corrupt(path, `expected version ${VERSION}, found ${bytes[4]}`);
  if (KINDS[bytes[5]!] !== kind) throw corrupt(path, `expected a ${kind}, found kind ${bytes[5]}`);
  const items = bytes.readUInt32LE(6);
  const count = bytes.readUInt32LE(10);
  const tensors: Int32Array[] = [];
  let at = HEADER_BYTES;
  for (let index = 0; index < count; index++) {
    if (at + 5 > bytes.length) throw corrupt(path, `it ends before tensor ${index} of ${count}`);
    const width = bytes[at]!;
    const length = bytes.readUInt32LE(at + 1);
    at += 5;
    if (width !== 1 && width !== 2 && width !== 4) throw corrupt(path, `tensor ${index} has element width ${width}`);
    if (at + length * width > bytes.length) throw corrupt(path, `it ends within tensor ${index} of ${count}`);
    const tensor = new Int32Array(length);
    for (let element = 0; element < length; element++, at += width) tensor[element] = bytes.readIntLE(at, width);
    tensors.push(tensor);
  }
  if (at !== bytes.length) throw corrupt(path, `${bytes.length - at} bytes follow its last tensor`);
  return { tensors, items };
}

function corrupt(path: string, what: string, cause?: unknown): AssayError {
  return new AssayError('TRACE_CORRUPT', `${path}: ${what}`, {
    meta: { path },
    ...(cause === undefined ? {} : { cause }),
  });
}
