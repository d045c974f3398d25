/**
 * The circom text of a verifier circuit: one straight line of products and checks between uses of the templates Absorb and
 * Joining, which hold the hand-written part. A comment says what each check stands for.
 */
import { circuitSources } from '../compile/circuit-sources.js';
import type { CircuitSources } from '../compile/types.js';
import { JOINING_START } from '../poseidon/joining.js';
import { blocksOf, SQUEEZE_BLOCK } from '../poseidon/transcript.js';
import type { VerifierCircuit } from './build-circuit.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';
import type { Statement, Wire } from './wires.js';

/** Main and all that it includes. */
export function verifierSources(circuit: VerifierCircuit): CircuitSources {
  return circuitSources(renderVerifier(circuit), poseidonWidths(circuit));
}

type Absorb = Extract<Statement, { kind: 'absorb' }>;

/** Widths of all permutations: the elements of a block and the state. */
function poseidonWidths({ statements, joined }: VerifierCircuit): number[] {
  const widths = new Set(blocksOf(joined.length).map((block) => block + 1));
  for (const statement of statements) {
    if (statement.kind !== 'absorb') continue;
    const blocks = blocksOf(statement.elements.length);
    blocks.forEach((block) => widths.add(block + 1));
    if (statement.out.length - 1 > blocks.at(-1)!) widths.add(SQUEEZE_BLOCK + 1);
  }
  return [...widths];
}

export function renderVerifier({ inputs, statements, joined, shape }: VerifierCircuit): string {
  const names = new Map<number, string>();
  for (const { name, signals } of inputs) signals.forEach((signal, i) => names.set(signal, `${name}[${i}]`));
  let products = 0;
  let absorbs = 0;
  for (const statement of statements)
    if (statement.kind === 'product') names.set(statement.signal, `w[${products++}]`);
    else if (statement.kind === 'absorb') {
      statement.out.forEach((signal, i) => names.set(signal, `absorb${absorbs}.out[${i}]`));
      absorbs++;
    }
  const lines: string[] = [];
  let sums = 0;
  /** The expression; a long one as a variable, whose lines come first. */
  const text = (wire: Wire): string => {
    const parts = summands(wire, names);
    if (parts.length <= LONGEST_SUM) return join(parts);
    const name = `sum${sums++}`;
    for (let at = 0; at < parts.length; at += LONGEST_SUM)
      lines.push(`${at === 0 ? `var ${name} =` : `${name} +=`} ${join(parts.slice(at, at + LONGEST_SUM))};`);
    return name;
  };
  absorbs = 0;
  for (const statement of statements)
    switch (statement.kind) {
      case 'product':
        lines.push(`${names.get(statement.signal)!} <== (${text(statement.a)}) * (${text(statement.b)});`);
        break;
      case 'equal':
        lines.push(`// ${statement.message.replace(/:.*/, '')}`, `${text(statement.a)} === ${text(statement.b)};`);
        break;
      case 'absorb':
        renderAbsorb(`absorb${absorbs++}`, statement, text, lines);
    }
  lines.push('', `component joining = Joining(${JOINING_START}, ${joined.length});`);
  joined.forEach((wire, i) => lines.push(`joining.x[${i}] <== ${text(wire)};`));
  const groups = shape.groups.map(
    ({ receipts, itemsPerReceipt }, g) => `group ${g}: ${receipts} receipts of ${itemsPerReceipt} items`,
  );
  return `pragma circom 2.1.0;

include "joining.circom";

/*
 * The verifier of one joint proof, columns of 2^${shape.n} cells; ${groups.join('; ')}.
 * Written by circuits/verifier/build-circuit.ts, which says what is assumed and guaranteed.
 */
template Verifier() {
${inputs.map(({ name, signals }) => `    signal input ${name}[${signals.length}];`).join('\n')}
    signal input rho;
    signal output c;
    signal output e;

    signal w[${products}];
${lines.map((line) => `    ${line}`).join('\n')}
    joining.rho <== rho;
    c <== joining.c;
    e <== joining.e;
}

component main {public [rho]} = Verifier();
`;
}

function renderAbsorb(
  name: string,
  { message, size, state, elements, out }: Absorb,
  text: (wire: Wire) => string,
  lines: string[],
): void {
  lines.push(
    `component ${name} = Absorb(${message}, ${size}, ${elements.length}, ${out.length - 1});`,
    `${name}.state <== ${text(state)};`,
  );
  elements.forEach((wire, i) => lines.push(`${name}.in[${i}] <== ${text(wire)};`));
}

/** Deeper nesting of a sum than this overflows the compiler's stack at some thousands. */
const LONGEST_SUM = 32;

interface Summand {
  readonly negative: boolean;
  readonly text: string;
}

/** k + sum c_i s_i; coefficients nearer to r than to 0 as negative ones. */
function summands({ constant, terms }: Wire, names: ReadonlyMap<number, string>): Summand[] {
  const parts: Summand[] = [];
  const push = (coefficient: bigint, factor: string): void => {
    const negative = coefficient > FR_MODULUS / 2n;
    const size = negative ? FR_MODULUS - coefficient : coefficient;
    parts.push({ negative, text: factor === '' ? `${size}` : size === 1n ? factor : `${size}*${factor}` });
  };
  for (const [signal, coefficient] of terms) push(coefficient, names.get(signal)!);
  if (constant !== 0n || parts.length === 0) push(constant, '');
  return parts;
}

const join = (parts: readonly Summand[]): string =>
  parts
    .map(({ negative, text }, i) => (i === 0 ? `${negative ? '-' : ''}${text}` : `${negative ? '-' : '+'} ${text}`))
    .join(' ');
