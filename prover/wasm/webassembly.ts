/** The part of the WebAssembly interface that is used here; the project's type libraries hold none of it. */

export interface WasmMemory {
  readonly buffer: ArrayBufferLike;
  /** @returns the number of pages before. @throws RangeError where it cannot grow. */
  grow(pages: number): number;
}

/** Compiled code; threads share one. */
export type WasmModule = object;

/** A compiled function on pointers and counts. */
export type Kernel = (...words: number[]) => number;
export type Kernels = Readonly<Record<string, Kernel>>;

interface WasmNamespace {
  readonly Memory: new (options: { initial: number; maximum: number; shared?: boolean }) => WasmMemory;
  readonly Instance: new (module: WasmModule, imports: object) => { readonly exports: object };
  compile(bytes: Uint8Array): Promise<WasmModule>;
  instantiate(module: WasmModule, imports: object): Promise<{ readonly exports: object }>;
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WasmNamespace }).WebAssembly;

export const PAGE_BYTES = 65_536;
