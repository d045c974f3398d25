/**
 * The compiled code of hash-code.ts, where it is at hand: in Node beside dist/, after `npm run build`. Elsewhere (browsers,
 * sources that were not built, a Node without process.getBuiltinModule) tensor-root.ts computes the same in JavaScript.
 */
import { SCRATCH_BYTES } from './layout.js';

interface WasmMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}
/** Compiled code; threads share one. */
export type HashModule = object;
export type HashMemory = WasmMemory;

export interface HashKernels {
  /** @returns 1, or 0 where an element lies outside the tensor's range. */
  hashBlock(job: number, block: number, scratch: number): number;
  keccak(scratch: number, data: number, length: number, out: number): void;
  treeValue(scratch: number, tag: number, level: number, count: number): void;
  staticEnd(): number;
}

interface WasmNamespace {
  readonly Memory: new (options: { initial: number; maximum: number; shared: true }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => HashModule;
  readonly Instance: new (module: HashModule, imports: object) => { readonly exports: unknown };
}

/** The project's type libraries hold none of it. */
const { WebAssembly } = globalThis as unknown as { WebAssembly: WasmNamespace };

export const PAGE_BYTES = 65_536;
const STATIC_BYTES = PAGE_BYTES;

/** Scratch of a thread, 0 for the calling one. */
export const scratchAt = (thread: number): number => STATIC_BYTES + thread * Math.ceil(SCRATCH_BYTES / 64) * 64;
/** First byte that neither static data nor scratch of so many threads takes. */
export const arenaAt = (threads: number): number => scratchAt(threads);

let known: HashModule | null | undefined;

/** The compiled code, or null where there is none. */
export function hashModule(): HashModule | null {
  if (known === undefined) {
    const bytes = readCode();
    known = bytes === null ? null : new WebAssembly.Module(bytes);
  }
  return known;
}

function readCode(): Uint8Array | null {
  // No static import of Node's modules: this file runs in browsers too.
  const { process } = globalThis as { process?: Partial<Pick<NodeJS.Process, 'getBuiltinModule'>> };
  const fs = process?.getBuiltinModule?.('node:fs');
  if (fs === undefined) return null;
  const folder = import.meta.url.endsWith('.ts') ? '../../../dist/graph/commitment/wasm/' : './';
  const file = new URL(`${folder}hash.wasm`, import.meta.url);
  return fs.existsSync(file) ? fs.readFileSync(file) : null;
}

/** A memory for so many threads; the code wants a shared one, which works for one thread as well. */
export function hashMemory(threads: number): HashMemory {
  return new WebAssembly.Memory({
    initial: Math.ceil(arenaAt(threads) / PAGE_BYTES) + 1,
    maximum: 65_536,
    shared: true,
  });
}

export const hashKernels = (code: HashModule, memory: HashMemory): HashKernels =>
  new WebAssembly.Instance(code, { env: { memory } }).exports as HashKernels;
