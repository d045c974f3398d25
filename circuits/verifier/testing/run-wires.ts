/** Computes the wires of a circuit one by one: what its constraints say, without circom. */
import { add, mul } from '../../../prover/field/fr.js';
import { PoseidonHash } from '../../poseidon/transcript.js';
import type { CircuitInputs } from '../../snarkjs/types.js';
import type { VerifierCircuit } from '../build-circuit.js';
import type { Wire } from '../wires.js';

/** @returns x. @throws Error with the message of the first check that fails */
export function runWires({ inputs, statements, joined }: VerifierCircuit, given: CircuitInputs): bigint[] {
  const values = new Map<number, bigint>();
  for (const { name, signals } of inputs) {
    const own = given[name] as readonly bigint[];
    if (own.length !== signals.length) throw new Error(`${name}: ${own.length} elements, expected ${signals.length}`);
    signals.forEach((signal, i) => values.set(signal, own[i]!));
  }
  const valueOf = ({ constant, terms }: Wire): bigint => {
    let total = constant;
    for (const [signal, coefficient] of terms) total = add(total, mul(coefficient, values.get(signal)!));
    return total;
  };
  for (const statement of statements)
    switch (statement.kind) {
      case 'product':
        values.set(statement.signal, mul(valueOf(statement.a), valueOf(statement.b)));
        break;
      case 'equal':
        if (valueOf(statement.a) !== valueOf(statement.b)) throw new Error(statement.message);
        break;
      case 'absorb': {
        const hash = new PoseidonHash(valueOf(statement.state));
        const kind = statement.message === 1 ? 'scalars' : 'bytes';
        hash.absorb(kind, statement.elements.map(valueOf), statement.size);
        const [state, ...drawn] = statement.out;
        // The state that is handed on is the one after all draws.
        drawn.forEach((signal) => values.set(signal, hash.draw()));
        values.set(state!, hash.state);
      }
    }
  return joined.map(valueOf);
}
