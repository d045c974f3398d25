import { expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import { MemoryKeep } from '../watch/keep.js';
import { OpeningJournal } from './opening-journal.js';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;

it('signs one content for a node of an order, for ever', async () => {
  const keep = new MemoryKeep();
  const signed: string[] = [];
  const sign = (name: Hex) => async (): Promise<Hex> => {
    signed.push(name);
    return name;
  };
  const journal = new OpeningJournal(keep);
  expect(await journal.signOnce(hash('1'), hash('2'), hash('3'), sign('0x01'))).toBe('0x01');
  // Again, and by another life of the process: the first signature, without signing.
  expect(await new OpeningJournal(keep).signOnce(hash('1'), hash('2'), hash('3'), sign('0x02'))).toBe('0x01');
  await expect(journal.signOnce(hash('1'), hash('2'), hash('4'), sign('0x03'))).rejects.toMatchObject({
    code: 'OPENING_CONTRADICTS',
    meta: { signed: hash('3'), refused: hash('4') },
  });
  expect(await journal.signOnce(hash('1'), hash('5'), hash('4'), sign('0x04'))).toBe('0x04');
  expect(await journal.signOnce(hash('6'), hash('2'), hash('4'), sign('0x05'))).toBe('0x05');
  expect(signed).toEqual(['0x01', '0x04', '0x05']);
});

it('gives out no signature that is not kept', async () => {
  const full = { get: async () => null, putOnce: () => Promise.reject(new Error('disk full')) };
  await expect(new OpeningJournal(full).signOnce(hash('1'), hash('2'), hash('3'), async () => '0x01')).rejects.toThrow(
    'disk full',
  );
});
