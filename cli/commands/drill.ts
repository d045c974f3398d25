/** Every kind of dispute, played on an own chain: docs/watcher.md. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { compileModel, decodeBundle, encodeInputs, readOnnx, type Bundle } from '../../graph/index.js';
import type { Tamper } from '../../fraud-proofs/step/inject.js';
import { calibrationSamples, heldOutSamples, shippedModel } from '../../models/index.js';
import { parseTamper } from '../disputes/parse-tamper.js';
import { randomInputs } from '../disputes/random-inputs.js';
import { runDrill } from '../disputes/run-drill.js';
import { honestWins, moneyTable, type ScenarioReport } from '../disputes/scenarios/index.js';
import { EXIT } from '../exit-codes.js';
import { readInputFile } from '../files.js';
import { table } from '../terminal.js';
import { terminalOf } from './common-options.js';

interface DrillFlags {
  tamper?: Tamper;
  only?: string[];
}

const MODEL = 'lenet5';
const CALIBRATION_SAMPLES = 50;
/** Of the arena's token, which wraps the chain's coin. */
const UNIT = { symbol: 'WNATIVE', decimals: 18 };

export function drillCommand(): Command {
  return new Command('drill')
    .description(
      'Play every kind of dispute on an own chain under the terms of a real deployment; the honest side must win.',
    )
    .argument('[bundle]', 'a bundle (.assay) (default: LeNet-5, compiled here)')
    .option(
      '--tamper <lie>',
      'what the cheats change: op=NUMBER|NAME or slot=NUMBER, element=NUMBER, delta=NUMBER',
      parseTamper,
    )
    .option('--only <names...>', 'scenarios: serves, answers, withholds, boundaries, accuser, shill, sums')
    .addHelpText(
      'after',
      '\nExample: assay drill --tamper op=2,element=100,delta=1\n\nExit codes: 0 the honest side won everywhere, 1 it did not.',
    )
    .action(async (file: string | undefined, flags: DrillFlags, command: Command) => {
      const terminal = terminalOf(command);
      const { bundle, inputs, items } = file === undefined ? shipped() : given(file);
      terminal.note(`${bundle.graph.name}, digest ${bundle.digest}`);
      const { lie, scenarios } = await runDrill({
        bundle,
        inputs,
        items,
        lie: flags.tamper ?? null,
        only: flags.only ?? null,
        separate: true,
        onScenario: ({ title }) => {
          const progress = terminal.progress(title, null);
          return (report) => progress.done(honestWins(report) ? report.outcome : `FAILED: ${report.outcome}`);
        },
      });
      const won = scenarios.every(honestWins);
      terminal.result(
        { won, lie, model: bundle.digest, scenarios },
        scenarios.map(text).concat(summary(scenarios)).join('\n\n'),
      );
      if (!won) process.exitCode = EXIT.invalid;
    });
}

interface Job {
  readonly bundle: Bundle;
  readonly inputs: readonly Int32Array[];
  readonly items: number;
}

function shipped(): Job {
  const { file } = shippedModel(MODEL);
  const bundle = compileModel(readOnnx(readFileSync(file), file), {
    calibration: calibrationSamples(MODEL, CALIBRATION_SAMPLES),
  });
  const { values, items } = encodeInputs(bundle, heldOutSamples(MODEL, 1).samples[0]!);
  return { bundle, inputs: values, items };
}

function given(file: string): Job {
  const bundle = decodeBundle(readInputFile(file), file);
  return { bundle, inputs: randomInputs(bundle, 1), items: 1 };
}

function text(report: ScenarioReport): string {
  const { title, outcome, checks, transactions, dispute, before, after, took } = report;
  const calls = transactions.map(({ who, what, gasUsed, reverted }) => [
    who,
    `${what}${reverted ? ' (refused)' : ''}`,
    String(gasUsed),
  ]);
  return [
    `${honestWins(report) ? 'WON' : 'LOST'}  ${title}`,
    `${outcome}. ${dispute.transactions} transactions of the dispute, ${dispute.gas} gas; over after ${took} s by the contracts' clock.`,
    ...checks.map(({ what, ok }) => `  ${ok ? 'yes' : 'NO '}  ${what}`),
    table(['who', 'call', 'gas'], calls),
    moneyTable(before, after, UNIT),
  ].join('\n');
}

function summary(scenarios: readonly ScenarioReport[]): string {
  return table(
    ['scenario', 'honest side', 'transactions', 'gas'],
    scenarios.map((report) => [
      report.name,
      honestWins(report) ? 'won' : 'LOST',
      String(report.dispute.transactions),
      String(report.dispute.gas),
    ]),
  );
}
