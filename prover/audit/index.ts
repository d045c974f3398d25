/**
 * The audit of the proof system: forgeries by family, to be run against any prover that can be made to lie. What is
 * attacked and why: catalogue.ts. The entry of `assay audit` is runFamily() over FAMILIES.
 */
export { runFamily, type Attempt, type FamilyResult, type TamperFamily } from './attack.js';
export type { AuditedProver, AuditJob } from './audited-prover.js';
export { KNOWN_ATTACKS, type KnownAttack } from './catalogue.js';
export { FAMILIES } from './families/index.js';
export { plainProver } from './plain-prover.js';
