/** Every attack of the catalogue is answered by something that exists, and every family answers one or is of the words. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { KNOWN_ATTACKS } from './catalogue.js';
import { FAMILIES } from './families/index.js';

it('every known attack has a family, a test, or a reason', () => {
  const names = new Set(FAMILIES.map(({ name }) => name));
  for (const { attack, families = [], tests = [], noPlace } of KNOWN_ATTACKS) {
    expect(families.length + tests.length > 0 || noPlace !== undefined, attack).toBe(true);
    for (const name of families) expect(names.has(name), `${attack}: ${name}`).toBe(true);
    for (const [file, test] of tests) {
      const source = readFileSync(path.join(import.meta.dirname, '..', file), 'utf8');
      expect(source.includes(test), `${attack}: '${test}' in ${file}`).toBe(true);
    }
  }
});
