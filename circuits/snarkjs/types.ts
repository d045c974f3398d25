/** What snarkjs is asked for, and what it answers. Names of files are paths. */
import type { Proof } from 'snarkjs';

/** Signals by name; arrays as the circuit declares them. */
export type CircuitInputs = Readonly<Record<string, Signal>>;
export type Signal = bigint | readonly Signal[];

export type SnarkjsTask =
  | {
      readonly kind: 'prove';
      readonly provingKey: string;
      readonly witnessProgram: Uint8Array;
      readonly inputs: CircuitInputs;
    }
  | { readonly kind: 'set up'; readonly r1cs: string; readonly ptau: string; readonly to: string }
  | {
      readonly kind: 'contribute';
      readonly from: string;
      readonly to: string;
      readonly name: string;
      readonly entropy: string;
    }
  | {
      readonly kind: 'beacon';
      readonly from: string;
      readonly to: string;
      readonly name: string;
      /** 32 bytes, hex, without 0x. */
      readonly hash: string;
      readonly iterationsExponent: number;
    }
  | { readonly kind: 'verify'; readonly r1cs: string; readonly ptau: string; readonly key: string };

export type SnarkjsResult = ProvedResult | { readonly kind: 'done' };

export interface ProvedResult {
  readonly kind: 'proved';
  readonly proof: Proof;
  readonly publicSignals: readonly string[];
  readonly witnessMs: number;
  readonly proveMs: number;
  /** Of all cores together. */
  readonly cpuSeconds: number;
  /** Largest resident memory of the process. */
  readonly peakBytes: number;
}
