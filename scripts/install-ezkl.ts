/**
 * `npm run ezkl:install`: a Python environment with EZKL in the pinned version, under .cache/, for benchmarks beside it and
 * for `assay prove --backend ezkl`. Needs Python 3.8 or newer and pip; nothing else of the system is changed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { AssayError, asAssayError } from '../common/errors.js';
import { EZKL_ENVIRONMENT, EZKL_VERSION } from '../prover/backends/ezkl/ezkl.js';

const python = `${EZKL_ENVIRONMENT}bin/python`;

function run(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  } catch (cause) {
    throw new AssayError('PROVER_UNAVAILABLE', `${[program, ...args].join(' ')} failed`, {
      mend: 'Install Python 3 with its venv module and see that pip reaches its registry.',
      cause,
    });
  }
}

try {
  if (!existsSync(python)) run('python3', ['-m', 'venv', EZKL_ENVIRONMENT]);
  run(python, ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', `ezkl==${EZKL_VERSION}`]);
  run(python, ['-c', 'import ezkl; print("EZKL", ezkl.__version__)']);
} catch (error) {
  const { message, mend } = asAssayError(error);
  process.stderr.write(`${message}\n  ${mend}\n`);
  process.exitCode = 1;
}
