import { Command } from 'commander';
import { terminalOf } from './common-options.js';

/** Its flags and its help are those of benchmarks/run.ts, which loads every room: only when it is asked for. */
export function benchCommand(): Command {
  return new Command('bench')
    .description('Measure what proving, committing and settling cost, beside other provers; --help shows the flags.')
    .helpOption(false)
    .allowUnknownOption()
    .argument('[flags...]')
    .action(async (flags: string[], _options: unknown, own: Command) => {
      const { bench } = await import('../../benchmarks/run.js');
      await bench([
        'node',
        'bench',
        ...flags,
        ...(terminalOf(own).json && !flags.includes('--json') ? ['--json'] : []),
      ]);
    });
}
