/** A file of powers of tau with known secrets, as snarkjs's ceremonies write them before phase 2 is prepared. */
import { encodeG1, G1_GENERATOR } from '../../../prover/curve/g1.js';
import { encodeG2, G2_GENERATOR } from '../../../prover/curve/g2.js';
import { FQ_MODULUS } from '../../../prover/field/bn254.params.js';
import { mul, powers } from '../../../prover/field/fr.js';
import type { SetupSecrets } from '../secrets.js';
import { storedG1, storedG2, writeElement } from '../zkey-format.js';

export function knownPowers({ tau, alpha, beta }: SetupSecrets, power: number): Uint8Array {
  const size = 2 ** power;
  const scalars = powers(tau, 2 * size - 1);
  const g1 = (of: readonly bigint[]) => of.map((k) => storedG1(encodeG1(G1_GENERATOR.multiply(k))));
  const g2 = (of: readonly bigint[]) => of.map((k) => storedG2(encodeG2(G2_GENERATOR.multiply(k))));
  const header = new Uint8Array(4 + 32 + 8);
  const view = new DataView(header.buffer);
  view.setUint32(0, 32, true);
  writeElement(view, 4, FQ_MODULUS);
  view.setUint32(36, power, true);
  view.setUint32(40, power, true);
  const low = scalars.slice(0, size);
  const sections: Uint8Array[][] = [
    [header],
    g1(scalars),
    g2(low),
    g1(low.map((k) => mul(alpha, k))),
    g1(low.map((k) => mul(beta, k))),
    g2([beta]),
    [new Uint8Array(4)],
  ];
  const head = new Uint8Array(12);
  head.set(new TextEncoder().encode('ptau'));
  new DataView(head.buffer).setUint32(4, 1, true);
  new DataView(head.buffer).setUint32(8, sections.length, true);
  const parts = sections.flatMap((content, i) => {
    const sectionHead = new Uint8Array(12);
    new DataView(sectionHead.buffer).setUint32(0, i + 1, true);
    const length = content.reduce((sum, part) => sum + part.length, 0);
    new DataView(sectionHead.buffer).setBigUint64(4, BigInt(length), true);
    return [sectionHead, ...content];
  });
  return Uint8Array.from(Buffer.concat([head, ...parts]));
}
