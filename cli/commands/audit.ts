import { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { decodeBundle } from '../../graph/index.js';
import { FAMILIES, plainProver, runFamily, type FamilyResult } from '../../prover/audit/index.js';
import { developmentSrs, openArithmetic, predictJob, ZkProver } from '../../prover/index.js';
import { auditModel, MODEL_FAMILIES } from '../audit-model.js';
import { EXIT } from '../exit-codes.js';
import { readInputFile } from '../files.js';
import { table, type Terminal } from '../terminal.js';
import { withoutKey } from '../without-key.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface AuditFlags {
  seeds: number;
  family?: string;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description('Attack the verifier: forged proofs of every known family, none of which may be accepted.')
    .argument('[bundle]', 'a bundle (.assay): change real proofs about it; without it, lie about small random models')
    .option('--seeds <count>', 'jobs that each family attacks', wholeNumber, 10)
    .option('--family <text>', 'without a bundle: only the families whose names hold this text')
    .action(async (file: string | undefined, flags: AuditFlags, command: Command) => {
      const terminal = terminalOf(command);
      checkFlags(file, flags);
      const results = await (file === undefined ? attackFamilies(flags, terminal) : attackModel(file, flags, terminal));
      const attempts = results.reduce((sum, result) => sum + result.attempts, 0);
      const broken = results.filter(({ accepted, crashed }) => accepted.length + crashed.length > 0);
      const accepted = results.flatMap((result) => result.accepted);
      terminal.result(
        {
          attempts,
          accepted: accepted.length,
          families: results.map(({ refusals, ...result }) => ({ ...result, refusals: Object.fromEntries(refusals) })),
        },
        [
          table(
            ['family', 'forgeries', 'accepted', 'not refused by a typed error'],
            results.map((result) => [
              result.name,
              String(result.attempts),
              String(result.accepted.length),
              String(result.crashed.length),
            ]),
          ),
          ...broken.flatMap((result) =>
            [...result.accepted, ...result.crashed].map((what) => `BROKEN: ${result.name}: ${what}`),
          ),
          `${attempts} forgeries of ${results.length} families, ${accepted.length} accepted`,
        ].join('\n'),
      );
      if (broken.length > 0) process.exitCode = accepted.length > 0 ? EXIT.invalid : EXIT.internal;
    });
}

/** An audit that attacks nothing, or not what was asked for, would pass. @throws AssayError CONFIG_INVALID */
function checkFlags(file: string | undefined, { seeds, family }: AuditFlags): void {
  if (seeds === 0)
    throw new AssayError('CONFIG_INVALID', '--seeds 0 attacks nothing', { mend: 'Give at least one seed.' });
  if (file !== undefined && family !== undefined)
    throw new AssayError('CONFIG_INVALID', '--family chooses among attacks on random models, not on a bundle', {
      mend: 'Leave out the bundle, or --family.',
    });
}

async function attackFamilies({ seeds, family = '' }: AuditFlags, terminal: Terminal): Promise<FamilyResult[]> {
  const families = FAMILIES.filter(({ name }) => name.includes(family));
  if (families.length === 0)
    throw new AssayError('CONFIG_INVALID', `no attack fits the family "${family}"`, {
      mend: `Give part of a name, such as "${FAMILIES[0]!.name}".`,
    });
  const progress = terminal.progress('attacking', families.length);
  const results: FamilyResult[] = [];
  for (const own of families) {
    results.push(await runFamily(own, plainProver, seeds));
    progress.update(results.length);
  }
  progress.done();
  return results;
}

async function attackModel(file: string, { seeds }: AuditFlags, terminal: Terminal): Promise<FamilyResult[]> {
  const bundle = withoutKey(decodeBundle(readInputFile(file), file));
  const arithmetic = await openArithmetic();
  try {
    // Under the development reference string: what is attacked are the checks of the proof.
    const srs = developmentSrs(predictJob(bundle.graph, 1).srsPoints, { arithmetic });
    const prover = new ZkProver({ arithmetic, srs });
    const progress = terminal.progress('attacking', seeds * MODEL_FAMILIES);
    const key = { key: prover.keyOf(bundle), srs };
    const results = auditModel(bundle, prover, key, seeds, (done) => progress.update(done));
    progress.done();
    return results;
  } finally {
    await arithmetic.close();
  }
}
