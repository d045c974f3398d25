/** The process of a development set-up: gigabytes of field elements for a minute, given back at its end. */
import { readFileSync } from 'node:fs';
import { openArithmetic } from '../../prover/wasm/node-arithmetic.js';
import { resourcesUsed, serveTask } from '../run-apart.js';
import { makeZkey } from './make-zkey.js';
import { DEVELOPMENT_SECRETS } from './secrets.js';

export interface DevelopmentSetupTask {
  /** Paths. */
  readonly r1cs: string;
  readonly to: string;
}

/** What a set-up took. */
export interface SetupSpent {
  /** Of all cores together. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

serveTask<DevelopmentSetupTask, SetupSpent>(async ({ r1cs, to }, progress) => {
  const arithmetic = await openArithmetic();
  await makeZkey({
    r1cs: readFileSync(r1cs),
    secrets: DEVELOPMENT_SECRETS,
    path: to,
    arithmetic,
    onProgress: (step) => progress(JSON.stringify(step)),
  });
  await arithmetic.close();
  return resourcesUsed();
});
