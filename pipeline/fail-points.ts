/**
 * Named places at which a test may kill the process, to see that nothing is lost or done twice.
 *
 * ASSAY_KILL_AT=`name` kills at the first time that the place is passed, `name#3` at the third. Without the variable a
 * fail point does nothing.
 */
const wanted = process.env['ASSAY_KILL_AT'];
const [wantedName, wantedHit] =
  wanted === undefined ? [undefined, 0] : [wanted.split('#')[0], Number(wanted.split('#')[1] ?? 1)];
let hits = 0;

/** The fail points that jobs of the sampled lane pass, in their order; the kill test walks this list. */
export const FAIL_POINTS = [
  'submit.before-commit',
  'submit.after-commit',
  'relay.before-enqueue',
  'relay.after-enqueue',
  'step.after-claim',
  'accept.before-store',
  'accept.after-store',
  'open.before-commit',
  'open.after-commit',
  'open.before-sign',
  'open.after-stored',
  'open.after-mined',
  'run.before-execute',
  'run.after-execute',
  'run.after-store',
  'step.before-commit',
  'step.after-commit',
  'sign.before-sign',
  'sign.after-sign',
  'seal.before-commit',
  'seal.after-commit',
  'tx.before-store',
  'tx.after-store',
  'tx.after-broadcast',
  'tx.after-mined',
  'post.after-commit-mined',
  'audit.after-seed',
  'audit.before-draw',
  'audit.after-draw',
  'audit.after-check',
  'audit.after-check-stored',
  'audit.after-adjudication',
  'settle.before-verdict-signed',
  'settle.after-verdict-signed',
  'settle.after-verdict-stored',
  'settle.after-verdict-posted',
  'settle.before-status-stored',
  'settle.after-settled',
  'pay.before-sign',
  'pay.after-stored',
  'pay.after-mined',
  'pay.before-state-stored',
] as const;

/** Those that only jobs of the zk lane pass. */
export const ZK_FAIL_POINTS = [
  'prove.before-prove',
  'prove.after-prove',
  'prove.after-store',
  'verify.before-verify',
  'verify.after-verify',
  'post-proved.before-sign',
  'post-proved.after-stored',
  'post-proved.after-mined',
] as const;

/** Those that only jobs pass that are proved together. */
export const BATCH_FAIL_POINTS = ['join.after-evaluate', 'wrap.before-prove', 'wrap.after-prove'] as const;

/** Those that only jobs of the optimistic lane pass. */
export const OPTIMISTIC_FAIL_POINTS = ['challenge.before-status-stored'] as const;

/** Those that only orders pass that end without a receipt on chain. */
export const EXPIRE_FAIL_POINTS = ['expire.before-sign', 'expire.after-stored', 'expire.after-mined'] as const;

export type FailPoint =
  | (typeof FAIL_POINTS)[number]
  | (typeof ZK_FAIL_POINTS)[number]
  | (typeof BATCH_FAIL_POINTS)[number]
  | (typeof OPTIMISTIC_FAIL_POINTS)[number]
  | (typeof EXPIRE_FAIL_POINTS)[number];

export function failPoint(name: FailPoint): void {
  if (name !== wantedName) return;
  hits++;
  // SIGKILL: no handler, no flush, no finally. It takes effect before the next statement.
  if (hits === wantedHit) process.kill(process.pid, 'SIGKILL');
}
