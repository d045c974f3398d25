import { pipelineTables } from './0001-pipeline-tables.js';
import { deploymentDomain } from './0002-deployment-domain.js';
import { zkLane } from './0003-zk-lane.js';
import { settlement } from './0004-settlement.js';
import { openedAlone } from './0005-opened-alone.js';
import { programs } from './0006-programs.js';
import { optimisticLane } from './0007-optimistic-lane.js';
import { recursiveBatches } from './0008-recursive-batches.js';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** Statements that may run inside a transaction; once released, never edited. */
  readonly sql: string;
}

/** In order of version. */
export const MIGRATIONS: readonly Migration[] = [
  pipelineTables,
  deploymentDomain,
  zkLane,
  settlement,
  openedAlone,
  programs,
  optimisticLane,
  recursiveBatches,
];
