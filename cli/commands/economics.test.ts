/** `assay economics`: what it answers, its exit codes, and what it refuses. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { assay, refused } from '../../test/run-command.js';
import { FIELDS } from '../economics-question.js';

const scratch = mkdtempSync(join(tmpdir(), 'assay-economics-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const written = (name: string, content: string): string => {
  const path = join(scratch, name);
  writeFileSync(path, content);
  return path;
};
const ask = (...args: string[]) => assay('economics', ...args);
const JOB = ['--price', '1', '--work', '0.8'];

describe('assay economics', () => {
  it('a rate: the least stake, to the last unit', async () => {
    const answer = await ask(...JOB, '--rate', '5%');
    // S > 0.8 / 0.05 - 1.
    expect(answer).toMatchObject({
      exitCode: 0,
      verdict: null,
      leastStake: '15000000000000000001',
      findingChance: 0.05,
    });
  });

  it('a stake: the least rate', async () => {
    // p > 0.8 / 26.
    expect(await ask(...JOB, '--stake', '25')).toMatchObject({ exitCode: 0, verdict: null, leastRatePpm: 30_770 });
    // No rate deters where every checker colludes.
    expect(await ask(...JOB, '--stake', '25', '--collusion', '1')).toMatchObject({ leastRatePpm: null, rate: null });
  });

  it('both: the exit code says whether they do', async () => {
    expect(await ask(...JOB, '--stake', '25', '--rate', '5%')).toMatchObject({
      exitCode: 0,
      verdict: { honestIsBest: true, worthWorking: true },
    });
    expect(await ask(...JOB, '--stake', '14', '--rate', '5%')).toMatchObject({
      exitCode: 1,
      verdict: { honestIsBest: false, worthWorking: true },
    });
    // What a cheat gets back by giving himself up is no stake: 15.6 less a tenth is 14.04.
    expect(await ask(...JOB, '--stake', '15.6', '--rate', '5%', '--recoverable', '10%')).toMatchObject({
      exitCode: 1,
      netStake: '14040000000000000000',
    });
    // False alarms: 0.05 * 0.2 * 25 is more than the margin.
    expect(await ask(...JOB, '--stake', '25', '--rate', '5%', '--false-alarm', '20%')).toMatchObject({
      exitCode: 1,
      verdict: { worthWorking: false },
    });
  });

  it('a file, and flags that win over it', async () => {
    const file = written('question.json', '{"price": "1", "work": 0.8, "rate": "1/20", "stake": 5}');
    expect(await ask(file)).toMatchObject({ exitCode: 1, stake: '5000000000000000000' });
    expect(await ask(file, '--stake', '25')).toMatchObject({ exitCode: 0, rate: 0.05 });
  });

  it('plays seasons: the same for the same seed, within the band of the formula', async () => {
    const args = [
      ...JOB,
      '--stake',
      '25',
      '--rate',
      '30%',
      '--simulate',
      '100',
      '--season-jobs',
      '2500',
      '--lies',
      '25',
    ];
    const { simulated, exitCode } = await ask(...args);
    expect(exitCode).toBe(0);
    expect(simulated).toMatchObject({ seeds: 100, poorer: 100, caught: 100 });
    expect((await ask(...args)).simulated).toEqual(simulated);
    expect((await ask(...args, '--seed', '7')).simulated).not.toEqual(simulated);
  });

  it('the pay of checkers', async () => {
    const pay = ['--check-cost', '0.05', '--fee', '0.05', '--bounty', '12', '--deposit', '1', '--canaries', '1%'];
    expect(await ask(...JOB, '--rate', '5%', ...pay)).toMatchObject({
      checkers: { computing: '120000000000000000', copying: '39500000000000000', leastCanaryRatePpm: 3_832 },
    });
  });

  it('a cheat who chooses how many lies he tells under one stake', async () => {
    // 20 * 0.8 - (1 - 0.95^20) * 25 = -0.038, and 21 bring 0.314.
    const under = async (jobs: string) =>
      Number((await ask(...JOB, '--rate', '5%', '--stake', '25', '--jobs', jobs))['gainOfAllLies']) / 1e18;
    expect([await under('20'), await under('21')]).toEqual([
      expect.closeTo(20 * 0.8 - (1 - 0.95 ** 20) * 25, 12),
      expect.closeTo(21 * 0.8 - (1 - 0.95 ** 21) * 25, 12),
    ]);
    expect(await ask(...JOB, '--rate', '5%', '--stake', '25')).toMatchObject({ coverage: { jobs: 20 } });
  });

  it('every number that a file may hold has a flag that does the same', async () => {
    const values = { amount: '3', share: '1/4', count: '2' };
    const all = Object.entries(FIELDS).map(([name, { kind }]) => [name, values[kind]] as const);
    const file = written('all.json', JSON.stringify(Object.fromEntries(all)));
    const flags = all.flatMap(([name, value]) => [
      `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
      value,
    ]);
    expect(await ask(...flags, '--simulate', '3')).toEqual(await ask(file, '--simulate', '3'));
  });

  it.each([
    [['--rate', '5%'], /^work: not given/],
    [['--work', '1', '--rate', '5%'], /^price: not given/],
    [JOB, /^stake, rate: neither is given/],
    [[...JOB, '--rate', '5'], /^rate: expected a share from 0 to 1, found 5/],
    [[...JOB, '--rate', 'x'], /^rate: expected a number such as 0\.05/],
    [[...JOB, '--rate', '5%', '--gain', '-1'], /^gain: expected an amount/],
    [[...JOB, '--rate', '5%', '--jobs', '0'], /^jobs: expected a whole number from 1/],
    [[...JOB, '--rate', '5%', '--jobs', '1.5'], /^jobs: expected a whole number/],
    [[...JOB, '--rate', '5%', '--checkers', '33'], /^checkers: expected a whole number from 1 to 32/],
    [[...JOB, '--rate', '5%', '--recoverable', '1/3'], /^recoverable: expected a whole number of 1\/10,000/],
    [[...JOB, '--rate', '5%', '--simulate', '10000', '--season-jobs', '1000000'], /^simulate \* season-jobs: expected/],
    [[...JOB, '--rate', '5%', '--simulate', '0'], /^simulate: expected a whole number from 1/],
    [[...JOB, '--rate', '5%', '--simulate', '1', '--lies', '2501'], /^lies: expected a whole number/],
    [[...JOB, '--rate', '5%', '--price', '0.0000000000000000001'], /^price: .*18 digits/],
  ])('refuses %j', (args, message) => refused(['economics', ...args], 'ECONOMICS_INVALID', message));

  it('refuses files that are no question', async () => {
    await refused(['economics', join(scratch, 'none.json')], 'FILE_NOT_FOUND', /none\.json/);
    await refused(['economics', written('broken.json', '{')], 'CONFIG_INVALID', /broken\.json: expected JSON/);
    await refused(['economics', written('other.json', '{"prize": 1}')], 'CONFIG_INVALID', /other\.json: .*prize/);
    await refused(['economics', written('type.json', '{"price": true}')], 'CONFIG_INVALID', /type\.json: price/);
    const exponent = written('exponent.json', '{"price": 1e30, "work": 1, "rate": 1}');
    await refused(['economics', exponent], 'ECONOMICS_INVALID', /^price: expected an amount/);
  });
});
