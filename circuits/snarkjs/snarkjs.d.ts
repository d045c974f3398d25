/** What the circuits use of snarkjs, which has no types of its own. */
declare module 'snarkjs' {
  /** A file in memory; snarkjs fills in `data`. */
  interface MemoryFile {
    type: 'mem';
    data?: Uint8Array;
  }
  /** Files are paths, or live in memory. */
  type File = string | MemoryFile;
  interface Logger {
    debug(text: string): void;
    info(text: string): void;
    warn(text: string): void;
    error(text: string): void;
  }
  interface Proof {
    readonly pi_a: readonly string[];
    readonly pi_b: readonly (readonly string[])[];
    readonly pi_c: readonly string[];
    readonly protocol: string;
    readonly curve: string;
  }
  const groth16: {
    prove(zkey: File, witness: File, logger?: Logger): Promise<{ proof: Proof; publicSignals: string[] }>;
    verify(key: object, publicSignals: readonly string[], proof: Proof, logger?: Logger): Promise<boolean>;
  };
  const wtns: {
    /** `program` is a path or the bytes of the witness calculator. */
    calculate(inputs: object, program: File, witness: File): Promise<void>;
    check(r1cs: File, witness: File, logger?: Logger): Promise<boolean>;
  };
  const zKey: {
    /** The hash of the circuit, or -1 and a line to the logger. */
    newZKey(r1cs: File, ptau: File, zkey: File, logger?: Logger): Promise<Uint8Array | number>;
    contribute(from: File, to: File, name: string, entropy: string, logger?: Logger): Promise<Uint8Array>;
    beacon(
      from: File,
      to: File,
      name: string,
      hash: string,
      iterationsExponent: number,
      logger?: Logger,
    ): Promise<Uint8Array>;
    verifyFromR1cs(r1cs: File, ptau: File, zkey: File, logger?: Logger): Promise<boolean>;
    exportVerificationKey(zkey: File, logger?: Logger): Promise<Record<string, unknown>>;
  };
}
