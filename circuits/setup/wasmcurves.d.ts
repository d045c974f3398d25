/** What is used of wasmcurves and wasmbuilder, which have no types of their own. */
declare module 'wasmcurves' {
  import type { ModuleBuilder } from 'wasmbuilder';
  /** Adds Fq, Fr, G1 and G2 of BN254; `modules.bn128.pG2gen` is the address of the generator of G2, extended form. */
  export function buildBn128(builder: ModuleBuilder): void;
}
declare module 'wasmbuilder' {
  export class ModuleBuilder {
    setMemory(pages: number): void;
    build(): Uint8Array<ArrayBuffer>;
    readonly modules: { readonly bn128: { readonly pG2gen: number } };
  }
}
