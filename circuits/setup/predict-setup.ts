/** What a set-up with known secrets will take: from counts and measured unit costs, before anything is spent. */
import type { R1cs } from '../r1cs/read-r1cs.js';
import { domainPower } from './qap.js';
import { COEFFICIENT_BYTES, G1_BYTES, G2_BYTES } from './zkey-format.js';

export interface SetupCost {
  readonly seconds: number;
  /** Memory of the process beyond what it held. */
  readonly memoryBytes: number;
  /** Of the .zkey file. */
  readonly fileBytes: number;
}

/** Measured on one core of a 2-core machine, microseconds. */
const TERM_US = 1.1;
const DOMAIN_US = 12;
const G1_US = 9;
const G2_US = 90;
/** The process, the WebAssembly and the threads. */
const START_SECONDS = 1.5;
/** A bigint of Fr in an array, and the share of the r1cs and its indices of a term. */
const ELEMENT_BYTES = 48;
const TERM_BYTES = 40;
const WORKER_BYTES = 60e6;

export function predictSetup(r1cs: R1cs, threads: number): SetupCost {
  const domain = 2 ** domainPower(r1cs);
  let coefficients = 0;
  const inB = new Set<number>();
  for (let i = 0; i < r1cs.constraints; i++) {
    coefficients += r1cs.starts[3 * i + 2]! - r1cs.starts[3 * i]!;
    for (let term = r1cs.starts[3 * i + 1]!; term < r1cs.starts[3 * i + 2]!; term++) inB.add(r1cs.termWires[term]!);
  }
  const pointsBytes = r1cs.wires * (3 * G1_BYTES + G2_BYTES) + domain * G1_BYTES;
  const inParallel = (3 * r1cs.wires + domain) * G1_US + inB.size * G2_US;
  return {
    seconds: START_SECONDS + (r1cs.terms * TERM_US + domain * DOMAIN_US + inParallel / threads) / 1e6,
    memoryBytes:
      r1cs.terms * TERM_BYTES + (6 * r1cs.wires + 4 * domain) * ELEMENT_BYTES + pointsBytes + threads * WORKER_BYTES,
    fileBytes: coefficients * COEFFICIENT_BYTES + pointsBytes,
  };
}
