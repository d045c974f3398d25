/**
 * Reads a rank-1 constraint system: constraint i says <A_i, w> <B_i, w> = <C_i, w> for the vector w of wires.
 *
 * Wire 0 is the constant 1; then come the public outputs, the public inputs, the private inputs that some constraint
 * mentions (the compiler drops the others) and the rest. A label numbers the signals of the source in the same order, with
 * all inputs, so labels tell which wires are inputs.
 *
 * Format (iden3, r1cs binary version 1, all integers little endian): "r1cs" | version 1 (4) | sections (4) | per section:
 * type (4), length (8), content. Section 1: bytes of an element, 32 (4) | r (32) | wires (4) | public outputs (4) | public
 * inputs (4) | private inputs (4) | labels (8) | constraints (4). Section 2: per constraint A, B, C, each: terms (4), then
 * per term wire (4) and coefficient (32). Section 3: a label (8) per wire. Sections come in any order.
 */
import { AssayError } from '../../common/errors.js';
import { FR_MODULUS } from '../../prover/field/bn254.params.js';

export interface R1cs {
  readonly wires: number;
  readonly publicOutputs: number;
  readonly publicInputs: number;
  /** All of the source, dropped ones included. */
  readonly privateInputs: number;
  readonly constraints: number;
  /** The signal of each wire. */
  readonly labels: Uint32Array;
  /** Terms of all A, B and C. */
  readonly terms: number;
  /** starts[3 i + p]: the first term of part p (0 A, 1 B, 2 C) of constraint i; one entry more than parts. */
  readonly starts: Uint32Array;
  /** The wire of each term. */
  readonly termWires: Uint32Array;
  /** The coefficient of term `term`, which lies in part `part` = 3 i + p. In [1, r). */
  coefficient(part: number, term: number): bigint;
}

const HEADER_BYTES = 4 + 32 + 4 * 4 + 8 + 4;
const TERM_BYTES = 36;

/**
 * @param name for messages.
 * @throws AssayError INTERNAL for bytes that are no such file, of another field, cut, or with a wire or coefficient out of
 * range: the file comes from our own compiler or cache.
 */
export function readR1cs(bytes: Uint8Array, name = 'r1cs'): R1cs {
  const refuse = (message: string): never => {
    throw new AssayError('CIRCUIT_BUILD_FAILED', `${name}: ${message}`, {
      mend: 'Delete the cache of circuits and compile again.',
    });
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || view.getUint32(0) !== 0x72316373 || view.getUint32(4, true) !== 1)
    refuse('expected "r1cs" and version 1 at its start');
  const sections = new Map<number, { at: number; length: number }>();
  let at = 12;
  for (let i = 0; i < view.getUint32(8, true); i++) {
    if (at + 12 > bytes.length) refuse('is truncated in a section head');
    const length = Number(view.getBigUint64(at + 4, true));
    if (at + 12 + length > bytes.length) refuse(`section ${view.getUint32(at, true)} ends after the file`);
    sections.set(view.getUint32(at, true), { at: at + 12, length });
    at += 12 + length;
  }
  const header = sections.get(1);
  const body = sections.get(2);
  const map = sections.get(3);
  if (header === undefined || body === undefined || map === undefined || header.length !== HEADER_BYTES)
    return refuse('expected a header of 64 bytes, a section of constraints and one of labels');
  if (view.getUint32(header.at, true) !== 32 || element(view, header.at + 4) !== FR_MODULUS)
    refuse('is over another field than Fr of BN254');
  const word = (index: number): number => view.getUint32(header.at + 36 + 4 * index, true);
  const [wires, publicOutputs, publicInputs, privateInputs] = [word(0), word(1), word(2), word(3)];
  const constraints = word(6);
  if (1 + publicOutputs + publicInputs > wires) refuse('has fewer wires than public signals');
  if (map.length !== 8 * wires) refuse(`has ${map.length} bytes of labels for ${wires} wires`);
  const labels = Uint32Array.from({ length: wires }, (_, wire) => Number(view.getBigUint64(map.at + 8 * wire, true)));

  const terms = (body.length - 12 * constraints) / TERM_BYTES;
  if (terms < 0 || !Number.isInteger(terms)) refuse('its section of constraints has no possible length');
  const starts = new Uint32Array(3 * constraints + 1);
  const termWires = new Uint32Array(terms);
  const end = body.at + body.length;
  let position = body.at;
  let term = 0;
  for (let part = 0; part < 3 * constraints; part++) {
    starts[part] = term;
    const count = position + 4 <= end ? view.getUint32(position, true) : refuse('its constraints end too early');
    position += 4;
    if (position + count * TERM_BYTES > end) refuse('its constraints end too early');
    for (let i = 0; i < count; i++, position += TERM_BYTES) {
      const wire = view.getUint32(position, true);
      if (wire >= wires) refuse(`constraint ${Math.floor(part / 3)} names wire ${wire} of ${wires}`);
      termWires[term++] = wire;
    }
  }
  starts[3 * constraints] = term;
  if (position !== end) refuse('its constraints end too late');

  const coefficientAt = (part: number, index: number): bigint =>
    element(view, body.at + 4 * (part + 1) + TERM_BYTES * index + 4);
  for (let part = 0; part < 3 * constraints; part++)
    for (let i = starts[part]!; i < starts[part + 1]!; i++) {
      const value = coefficientAt(part, i);
      if (value === 0n || value >= FR_MODULUS)
        refuse(`constraint ${Math.floor(part / 3)} has a coefficient that is 0 or not below r`);
    }
  return {
    wires,
    publicOutputs,
    publicInputs,
    privateInputs,
    constraints,
    labels,
    terms,
    starts,
    termWires,
    coefficient: coefficientAt,
  };
}

/** 32 bytes, little endian. */
function element(view: DataView, offset: number): bigint {
  return (
    view.getBigUint64(offset, true) |
    (view.getBigUint64(offset + 8, true) << 64n) |
    (view.getBigUint64(offset + 16, true) << 128n) |
    (view.getBigUint64(offset + 24, true) << 192n)
  );
}
