/**
 * What the audit attacks: a prover that can be made to lie, and the verifier that must notice. Attacks are written
 * against this interface, so that one suite runs over every prover and every commitment scheme.
 */
import type { ProgramWithModel } from '../program/build-program.js';
import type { GroupWitness } from '../prover/witness.js';
import type { Tampering } from '../reference/reference-prover.js';
import type { ModelKey } from '../verifier/model-key.js';
import type { Statement } from '../verifier/statement.js';
import type { AuditGroup } from './cases.js';

export interface AuditedProver {
  readonly name: string;
  key(built: ProgramWithModel): Promise<ModelKey>;
  prove(
    statement: Statement,
    witnesses: readonly GroupWitness[],
    n: number,
    bound: Uint8Array,
    tampering: Tampering,
  ): Promise<Uint8Array>;
  /** @throws AssayError where the proof does not hold. */
  verify(statement: Statement, proof: Uint8Array, bound: Uint8Array): void;
}

/** An honest job with all that an attack may change. */
export interface AuditJob {
  readonly prover: AuditedProver;
  readonly groups: readonly AuditGroup[];
  readonly statement: Statement;
  readonly witnesses: readonly GroupWitness[];
  readonly n: number;
  readonly bound: Uint8Array;
}

export const witnessOf = ({ built, values }: Pick<AuditGroup, 'built' | 'values'>): GroupWitness => ({
  built,
  tensor: (id) => values[id]!,
});

export const publishedOf = ({ built, values }: Pick<AuditGroup, 'built' | 'values'>): Int32Array[] =>
  built.published.map((id) => values[id]!);

export async function makeJob(
  prover: AuditedProver,
  groups: readonly AuditGroup[],
  bound: Uint8Array = new Uint8Array(0),
  n = Math.max(...groups.map(({ built }) => built.program.modelBits)),
): Promise<AuditJob> {
  const keys = await Promise.all(groups.map(({ built }) => prover.key(built)));
  const statement = {
    groups: groups.map((group, g) => ({
      key: keys[g]!,
      items: group.items,
      inputs: group.inputs,
      outputs: publishedOf(group),
    })),
  };
  return { prover, groups, statement, witnesses: groups.map(witnessOf), n, bound };
}

/** A proof of the job, honest but for the tampering. */
export const proveJob = (job: AuditJob, tampering: Tampering = {}): Promise<Uint8Array> =>
  job.prover.prove(job.statement, job.witnesses, job.n, job.bound, tampering);
