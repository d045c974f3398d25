/** Every small change of a piece of evidence, one at a time. */

/** Byte strings of any length; other strings of hex are words. */
const BYTE_STRINGS = new Set(['header', 'elements', 'encoded']);

export interface Mutation<T> {
  /** Where and what: `slots.0.position +1`. Numbers of list entries are given as they are. */
  readonly what: string;
  readonly changed: T;
}

/** All changes of a number by one, of a bit of a word or at both ends of a byte string, of its length, of a list's length and order. */
export function mutationsOf<T>(value: T, name = ''): Mutation<T>[] {
  const all: Mutation<unknown>[] = [];
  const own = (what: string, changed: unknown): void => void all.push({ what, changed });
  if (typeof value === 'number') {
    own('+1', value + 1);
    if (value > 0) own('-1', value - 1);
  } else if (typeof value === 'bigint') {
    own('+1', value + 1n);
    own('-1', value - 1n);
  } else if (typeof value === 'string' && value.startsWith('0x')) {
    if (value.length > 2) {
      own('first byte', `0x${flipped(value.slice(2, 4))}${value.slice(4)}`);
      if (BYTE_STRINGS.has(name)) own('last byte', `${value.slice(0, -2)}${flipped(value.slice(-2))}`);
    }
    if (BYTE_STRINGS.has(name)) {
      own('longer', `${value}00`);
      if (value.length > 2) own('shorter', value.slice(0, -2));
    }
  } else if (Array.isArray(value)) {
    if (value.length > 0) {
      own('without the last', value.slice(0, -1));
      own('with the last twice', [...(value as unknown[]), value.at(-1)]);
    }
    if (value.length > 1) own('two exchanged', [value[1], value[0], ...(value as unknown[]).slice(2)]);
    value.forEach((entry, i) => {
      // Of siblings the lowest and the highest: one hash holds them all.
      if (typeof entry === 'string' && i > 0 && i < value.length - 1) return;
      for (const { what, changed } of mutationsOf(entry as unknown, name))
        all.push({ what: `${i}.${what}`, changed: (value as unknown[]).with(i, changed) });
    });
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, entry] of Object.entries(value))
      for (const { what, changed } of mutationsOf(entry as unknown, key))
        all.push({
          what: `${key}${/^[+-]?[a-z1]+ |^[+-]1$/.test(what) ? ' ' : '.'}${what}`,
          changed: { ...value, [key]: changed },
        });
  }
  return all as Mutation<T>[];
}

const flipped = (byte: string): string => (parseInt(byte, 16) ^ 1).toString(16).padStart(2, '0');
