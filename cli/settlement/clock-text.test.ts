import { expect, test } from 'vitest';
import { clockModeOf, spanText, timeText } from './clock-text.js';

const seconds = clockModeOf('mode=timestamp');
const blocks = clockModeOf('mode=blocknumber&from=default');

test('times and spans by either clock', () => {
  expect(timeText(1_800_000_000, seconds)).toBe('2027-01-15T08:00:00Z');
  expect(timeText(42, blocks)).toBe('block 42');
  expect([1, 60, 90, 3_600, 172_800].map((span) => spanText(span, seconds))).toEqual([
    '1 s',
    '1 min',
    '90 s',
    '1 h',
    '2 d',
  ]);
  expect([1, 5].map((span) => spanText(span, blocks))).toEqual(['1 block', '5 blocks']);
});
