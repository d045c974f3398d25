/**
 * A thread that multiplies the generator H of G2 by many scalars: tables of d 2^(w j) H for all windows j and digits d,
 * then one mixed addition per window and scalar. The point arithmetic is that of snarkjs, WebAssembly of wasmcurves.
 */
import { ModuleBuilder } from 'wasmbuilder';
import { buildBn128 } from 'wasmcurves';
import { PAGE_BYTES, webAssembly, type Kernels } from '../../prover/wasm/webassembly.js';
import { serveTask } from '../run-apart.js';

export interface G2Task {
  /** 32 bytes each, little endian, below r. */
  readonly scalars: Uint8Array;
}

/** 128 bytes a point: Montgomery form, little endian, zeros for infinity; as .zkey files hold them. */
export type G2Result = Uint8Array;

/** Measured for 50,000 scalars: 8 bits 1.2 times as long, 12 bits as long, with 9 times the table. */
const WINDOW_BITS = 10;
const WINDOWS = Math.ceil(254 / WINDOW_BITS);
const DIGITS = 2 ** WINDOW_BITS;
const AFFINE_BYTES = 128;
const JACOBIAN_BYTES = 192;
const CHUNK = 2048;
/** What the module keeps for itself: constants and scratch. */
const MODULE_PAGES = 25;

async function multiples({ scalars }: G2Task, progress: (text: string) => void): Promise<G2Result> {
  const builder = new ModuleBuilder();
  builder.setMemory(MODULE_PAGES);
  buildBn128(builder);
  const table = MODULE_PAGES * PAGE_BYTES;
  const work = table + WINDOWS * DIGITS * AFFINE_BYTES;
  const end = work + Math.max(CHUNK, DIGITS + 1) * (JACOBIAN_BYTES + AFFINE_BYTES);
  const pages = Math.ceil(end / PAGE_BYTES);
  const linear = new webAssembly.Memory({ initial: pages, maximum: pages, shared: false });
  const module = await webAssembly.compile(builder.build());
  const instance = await webAssembly.instantiate(module, { env: { memory: linear } });
  const exports = instance.exports as Kernels;
  const memory = new Uint8Array(linear.buffer);
  const jacobian = (i: number): number => work + i * JACOBIAN_BYTES;
  const affine = (window: number, digit: number): number => table + (window * DIGITS + digit) * AFFINE_BYTES;

  let base = builder.modules.bn128.pG2gen;
  for (let window = 0; window < WINDOWS; window++) {
    exports.g2m_zero!(jacobian(0));
    for (let digit = 1; digit < DIGITS; digit++) exports.g2m_add!(jacobian(digit - 1), base, jacobian(digit));
    exports.g2m_batchToAffine!(jacobian(0), DIGITS, affine(window, 0));
    // 2^w times the base: the last multiple and the base once more, kept where the next window does not write.
    const next = work + DIGITS * JACOBIAN_BYTES;
    exports.g2m_add!(jacobian(DIGITS - 1), base, next);
    base = next;
  }

  const count = scalars.length / 32;
  const result = new Uint8Array(count * AFFINE_BYTES);
  for (let from = 0; from < count; from += CHUNK) {
    const length = Math.min(CHUNK, count - from);
    for (let i = 0; i < length; i++) {
      const sum = jacobian(i);
      exports.g2m_zero!(sum);
      const digits = digitsOf(scalars.subarray(32 * (from + i), 32 * (from + i + 1)));
      for (let window = 0; window < WINDOWS; window++)
        if (digits[window] !== 0) exports.g2m_addMixed!(sum, affine(window, digits[window]!), sum);
    }
    const out = jacobian(CHUNK);
    exports.g2m_batchToAffine!(jacobian(0), length, out);
    result.set(memory.subarray(out, out + length * AFFINE_BYTES), from * AFFINE_BYTES);
    progress(String(from + length));
  }
  return result;
}

/** Base 2^w digits, least significant first. */
function digitsOf(scalar: Uint8Array): number[] {
  const digits: number[] = [];
  let [held, bits, at] = [0, 0, 0];
  for (let window = 0; window < WINDOWS; window++) {
    while (bits < WINDOW_BITS && at < scalar.length) {
      held |= scalar[at++]! << bits;
      bits += 8;
    }
    digits.push(held & (DIGITS - 1));
    held >>>= WINDOW_BITS;
    bits -= WINDOW_BITS;
  }
  return digits;
}

serveTask(multiples);
