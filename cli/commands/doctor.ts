import { statfsSync } from 'node:fs';
import { Command } from 'commander';
import { asAssayError, AssayError } from '../../common/errors.js';
import { availableEngines, selfTest } from '../../executor/index.js';
import { openPostgres } from '../../pipeline/database/open-postgres.js';
import { openStepQueue } from '../../pipeline/queue/step-queue.js';
import type { Hex } from '../../receipts/types.js';
import { startAnvil } from '../../verifier-contracts/anvil.js';
import { EXIT } from '../exit-codes.js';
import { settlementFindings, type Finding } from '../settlement/findings.js';
import { address } from '../settlement/open-deployment.js';
import { table } from '../terminal.js';
import { terminalOf } from './common-options.js';

const MIN_NODE_MAJOR = 20;

export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Look at this machine: engines and their self-test, queue, database, chain; what is missing and its mend.',
    )
    .option('--rpc <url>', 'look at a deployment too: JSON-RPC endpoint of its chain')
    .option('--rollup <address>', 'its rollup contract', address)
    .addHelpText('after', '\nExample: assay doctor --rpc http://127.0.0.1:8545 --rollup 0x...')
    .action(async ({ rpc, rollup }: { rpc?: string; rollup?: Hex }, command: Command) => {
      const terminal = terminalOf(command);
      if ((rpc === undefined) !== (rollup === undefined)) {
        const flag = rpc === undefined ? '--rpc' : '--rollup';
        throw new AssayError(
          'CONFIG_INVALID',
          `a deployment is looked at with --rpc and --rollup: ${flag} is missing`,
          {
            mend: 'Give both, or neither.',
            meta: { flag },
          },
        );
      }
      const findings: Finding[] = [node(), disk()];
      const progress = terminal.progress('testing engines', null);
      findings.push(...(await engines()));
      progress.done();
      findings.push(await chain(), await redis(), await postgres());
      if (rpc !== undefined && rollup !== undefined) findings.push(...(await settlementFindings({ rpc, rollup })));
      terminal.result(
        findings,
        table(
          ['part', 'state', 'detail'],
          findings.map((f) => [f.part, f.state, f.detail]),
        ),
      );
      if (findings.some(({ state }) => state === 'broken')) process.exitCode = EXIT.infrastructure;
    });
}

function node(): Finding {
  const major = Number(process.versions.node.split('.')[0]);
  const state = major >= MIN_NODE_MAJOR ? 'ok' : 'broken';
  return {
    part: 'Node',
    state,
    detail: `${process.version}${state === 'ok' ? '' : `; Node ${MIN_NODE_MAJOR} or newer is needed`}`,
  };
}

function disk(): Finding {
  const { bavail, bsize } = statfsSync('.');
  return { part: 'disk', state: 'ok', detail: `${((bavail * bsize) / 2 ** 30).toFixed(1)} GiB free in this folder` };
}

async function engines(): Promise<Finding[]> {
  const { engines: found, missing } = await availableEngines();
  const findings: Finding[] = [];
  for (const engine of found) {
    const { deviceClass, cases, elapsedMs } = await selfTest(engine);
    const failed = cases.filter(({ failure, differing }) => failure !== null || differing > 0).map(({ name }) => name);
    findings.push({
      part: engine.name,
      state: deviceClass === 'float-only' ? 'broken' : 'ok',
      detail: `${engine.version}; ${deviceClass} (${cases.length} self-test cases, ${elapsedMs.toFixed(0)} ms)${failed.length > 0 ? `; failed: ${failed.join(', ')}` : ''}`,
    });
    await engine.close();
  }
  return [
    ...findings,
    ...missing.map(({ name, reason, mend }) => ({
      part: name,
      state: 'absent' as const,
      detail: `${reason}. ${mend}`,
    })),
  ];
}

async function chain(): Promise<Finding> {
  return tried('anvil (local chain)', async () => {
    const anvil = await startAnvil();
    await anvil.stop();
    return 'starts and stops';
  });
}

async function redis(): Promise<Finding> {
  const url = process.env['REDIS_URL'];
  if (url === undefined || url === '')
    return { part: 'Redis', state: 'absent', detail: 'REDIS_URL is not set: the queue runs on the database' };
  return tried('Redis', async () => {
    const queue = await openStepQueue({ kind: 'redis', url, namespace: 'doctor' }, []);
    await queue.ready();
    await queue.close();
    return 'answers';
  });
}

async function postgres(): Promise<Finding> {
  const url = process.env['DATABASE_URL'];
  if (url === undefined || url === '')
    return { part: 'PostgreSQL', state: 'absent', detail: 'DATABASE_URL is not set: tables live in embedded PGlite' };
  return tried('PostgreSQL', async () => {
    const database = await openPostgres(url);
    await database.close();
    return 'answers; tables are up to date';
  });
}

async function tried(part: string, ask: () => Promise<string>): Promise<Finding> {
  try {
    return { part, state: 'ok', detail: await ask() };
  } catch (thrown) {
    const error: AssayError = asAssayError(thrown);
    return { part, state: 'broken', detail: `${error.message} ${error.mend}` };
  }
}
