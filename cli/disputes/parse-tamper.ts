import { InvalidArgumentError } from 'commander';
import type { Tamper } from '../../fraud-proofs/step/inject.js';

/** A lie of the viewer's choice, as in `op=2,element=100,delta=1`. @throws InvalidArgumentError */
export function parseTamper(flag: string): Tamper {
  const fields = new Map(
    flag.split(',').map((part) => part.split('=', 2).map((side) => side.trim()) as [string, string]),
  );
  const refuse = (why: string): InvalidArgumentError =>
    new InvalidArgumentError(`expected op=NUMBER|NAME (or slot=NUMBER),element=NUMBER,delta=NUMBER: ${why}`);
  const whole = (name: string): number => {
    const text = fields.get(name) ?? '';
    if (!/^-?\d{1,15}$/.test(text)) throw refuse(`${name} is "${text.slice(0, 40)}"`);
    return Number(text);
  };
  for (const name of fields.keys())
    if (!['op', 'slot', 'element', 'delta'].includes(name)) throw refuse(`there is no "${name.slice(0, 40)}"`);
  const op = fields.get('op');
  if ((op === undefined) === !fields.has('slot')) throw refuse('give op or slot');
  const at = op === undefined ? { slot: whole('slot') } : { op: /^\d+$/.test(op) ? Number(op) : op };
  return { at, element: whole('element'), delta: whole('delta'), downstream: true };
}
