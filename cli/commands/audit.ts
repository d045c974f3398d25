import { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { runFamily, type FamilyResult } from '../../prover/audit/attack.js';
import { FAMILIES } from '../../prover/audit/families/index.js';
import { plainProver } from '../../prover/audit/plain-prover.js';
import { EXIT } from '../exit-codes.js';
import { table } from '../terminal.js';
import { terminalOf, wholeNumber } from './common-options.js';

interface AuditFlags {
  seeds: number;
  family?: string;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description(
      'Attack the verifier: forge proofs of small random models by every known family; none may be accepted.',
    )
    .option('--seeds <count>', 'jobs that each family attacks', wholeNumber, 10)
    .option('--family <text>', 'only the families whose names hold this text')
    .action(async (flags: AuditFlags, command: Command) => {
      const terminal = terminalOf(command);
      const families = FAMILIES.filter(({ name }) => name.includes(flags.family ?? ''));
      if (families.length === 0 || flags.seeds === 0)
        throw new AssayError('CONFIG_INVALID', `no attack fits: family "${flags.family ?? ''}", ${flags.seeds} seeds`, {
          mend: `Give at least one seed and part of a name, such as "${FAMILIES[0]!.name}".`,
        });
      const progress = terminal.progress('attacking', families.length);
      const results: FamilyResult[] = [];
      for (const family of families) {
        results.push(await runFamily(family, plainProver, flags.seeds));
        progress.update(results.length);
      }
      progress.done();
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
