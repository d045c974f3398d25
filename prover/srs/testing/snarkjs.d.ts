/** What the tests use of snarkjs, which has no types of its own. */
declare module 'snarkjs' {
  interface Group<Affine> {
    /** From the form in which files hold points. */
    fromRprLEM(bytes: Uint8Array, offset: number): Uint8Array;
    toObject(point: Uint8Array): Affine;
  }
  interface Curve {
    readonly G1: Group<bigint[]>;
    readonly G2: Group<bigint[][]>;
    terminate(): Promise<void>;
  }
  /** A file in memory; snarkjs fills in `data`. */
  interface MemoryFile {
    type: 'mem';
    data?: Uint8Array;
  }
  const curves: { getCurveFromName(name: string): Promise<Curve> };
  const powersOfTau: {
    newAccumulator(curve: Curve, power: number, file: MemoryFile): Promise<unknown>;
    contribute(from: MemoryFile, to: MemoryFile, name: string, entropy: string): Promise<unknown>;
    preparePhase2(from: MemoryFile, to: MemoryFile): Promise<unknown>;
  };
}
