/**
 * Forgeries by family. A family takes an honest job and a seed and makes false proofs, or true proofs beside false
 * statements; every one of them must be refused with a typed error. A family that applies to no job it drew says so by
 * making nothing.
 */
import { AssayError } from '../../common/errors.js';
import { makeJob, type AuditedProver, type AuditJob } from './audited-prover.js';
import { randomCase, type CaseKind } from './cases.js';
import { Draw } from './draw.js';
import type { Statement } from '../verifier/statement.js';

export interface Attempt {
  /** What was changed, for the report. */
  readonly what: string;
  readonly proof: Uint8Array;
  /** Default: those of the job. */
  readonly statement?: Statement;
  readonly bound?: Uint8Array;
}

export interface TamperFamily {
  readonly name: string;
  /** Graphs that it attacks. */
  readonly kinds: readonly CaseKind[];
  /** Of a joint proof. Default: one, and two for every third seed. */
  readonly groups?: number;
  attack(job: AuditJob, draw: Draw): Promise<readonly Attempt[]>;
}

export interface FamilyResult {
  readonly name: string;
  readonly seeds: number;
  readonly attempts: number;
  /** Forgeries that the verifier took: a break. */
  readonly accepted: readonly string[];
  /** Forgeries that it refused otherwise than by a typed error: a defect. */
  readonly crashed: readonly string[];
  /** Messages of refusals, with numbers taken out, and how often. */
  readonly refusals: ReadonlyMap<string, number>;
}

/** Errors by which a verifier may refuse. */
const REFUSALS: readonly string[] = ['PROOF_INVALID', 'PROOF_LIMITS'];

export const AUDIT_CONTEXT = new TextEncoder().encode('audit');

/** @param seeds how many, from 1 on. */
export async function runFamily(family: TamperFamily, prover: AuditedProver, seeds: number): Promise<FamilyResult> {
  const accepted: string[] = [];
  const crashed: string[] = [];
  const refusals = new Map<string, number>();
  let attempts = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const draw = new Draw(family.name, seed);
    const { job, made, kinds: drawn } = await firstThatApplies(family, prover, draw, seed);
    for (const { what, proof, statement = job.statement, bound = job.bound } of made) {
      attempts++;
      const label = `seed ${seed}, ${drawn}: ${what}`;
      try {
        prover.verify(statement, proof, bound);
        accepted.push(label);
      } catch (error) {
        if (!(error instanceof AssayError) || !REFUSALS.includes(error.code))
          crashed.push(`${label}: ${String(error)}`);
        else {
          const reason = error.message.replaceAll(/-?\d+/g, '#');
          refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
        }
      }
    }
  }
  return { name: family.name, seeds, attempts, accepted, crashed, refusals };
}

/** How many jobs are drawn until a family finds its place in one. */
const TRIES = 8;

async function firstThatApplies(
  family: TamperFamily,
  prover: AuditedProver,
  draw: Draw,
  seed: number,
): Promise<{ job: AuditJob; made: readonly Attempt[]; kinds: string }> {
  for (let tries = 1; ; tries++) {
    const drawn = Array.from({ length: family.groups ?? (seed % 3 === 0 ? 2 : 1) }, (_, g) =>
      g === 0 && tries === 1 ? family.kinds[(seed - 1) % family.kinds.length]! : draw.pick(family.kinds),
    );
    const groups = drawn.map((kind) => randomCase(kind, draw));
    const job = await makeJob(prover, groups, AUDIT_CONTEXT);
    const made = await family.attack(job, draw);
    if (made.length > 0 || tries === TRIES) return { job, made, kinds: drawn.join(' and ') };
  }
}
