/**
 * Runs the tests of the verifier against every mutation, in a copy of the sources, and says which test fails for each.
 * A mutation that no test notices is a check without a test.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { allMutations, mutate, type Mutation } from './mutations.js';

export interface MutationOutcome {
  readonly name: string;
  /** The first test that failed, with its file; null where none did. */
  readonly killedBy: string | null;
}

/** Attacks and refusals first: that an honest proof fails too says less. */
const SUITES: readonly (readonly string[])[] = [
  [
    'prover/verifier/refusals.test.ts',
    'prover/verifier/inventory.test.ts',
    'prover/verifier/model-key.test.ts',
    'prover/audit/breaks.test.ts',
    'prover/audit/families.test.ts',
  ],
  ['prover/plan', 'prover/program', 'prover/verifier/sumcheck.test.ts', 'prover/verifier/honest.test.ts'],
];

const COPIED = ['common', 'graph', 'models', 'prover', 'package.json', 'tsconfig.json'];

/** Without what the whole project's tests set up. */
const CONFIG = 'export default { test: { testTimeout: 120_000, hookTimeout: 120_000, maxWorkers: 2 } };\n';

/** @param root of the repository. */
export function runMutations(
  root: string,
  report: (outcome: MutationOutcome, done: number, all: number) => void = () => undefined,
  select: (mutation: Mutation) => boolean = () => true,
): MutationOutcome[] {
  const copy = mkdtempSync(path.join(tmpdir(), 'mutations-'));
  try {
    for (const entry of COPIED) cpSync(path.join(root, entry), path.join(copy, entry), { recursive: true });
    writeFileSync(path.join(copy, 'vitest.config.ts'), CONFIG);
    symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
    const sources = new Map<string, string>();
    const read = (file: string): string => {
      const known = sources.get(file) ?? readFileSync(path.join(copy, 'prover', file), 'utf8');
      sources.set(file, known);
      return known;
    };
    const mutations = allMutations(read).filter(select);
    const untouched = failingTest(root, copy);
    if (untouched !== null) throw new Error(`without any mutation a test fails: ${untouched}`);
    return mutations.map((mutation, i) => {
      const files = new Set(mutation.edits.map(({ file }) => file));
      if (files.size === 0) throw new Error(`mutation '${mutation.name}' changes nothing`);
      for (const file of files)
        writeFileSync(
          path.join(copy, 'prover', file),
          mutate(
            read(file),
            mutation.edits.filter((edit) => edit.file === file),
          ),
        );
      const outcome = { name: mutation.name, killedBy: failingTest(root, copy) };
      for (const file of files) writeFileSync(path.join(copy, 'prover', file), read(file));
      report(outcome, i + 1, mutations.length);
      return outcome;
    });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

interface VitestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** The first failing test of the suites. */
function failingTest(root: string, copy: string): string | null {
  for (const suite of SUITES) {
    const out = path.join(copy, 'report.json');
    rmSync(out, { force: true });
    const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const args = [vitest, 'run', '--root', copy, '--bail', '1', '--reporter', 'json', '--outputFile', out, ...suite];
    const { status } = spawnSync(process.execPath, args, {
      cwd: copy,
      stdio: 'ignore',
      timeout: 600_000,
      env: { ...process.env, CI: '1' },
    });
    if (status === 0) continue;
    const { testResults } = JSON.parse(readFileSync(out, 'utf8')) as VitestReport;
    for (const { name, assertionResults, status: result, message } of testResults) {
      const file = path.relative(copy, name).replace(/^.*prover\//, 'prover/');
      const failed = assertionResults.find((test) => test.status === 'failed');
      if (failed) return `${file}: ${failed.fullName}`;
      if (result === 'failed' && assertionResults.length === 0) return `${file}: ${message.split('\n')[0]!}`;
    }
    return 'the run itself';
  }
  return null;
}
