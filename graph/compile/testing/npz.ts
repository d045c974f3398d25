/** Test helper: tensors of a numpy .npz archive (a ZIP of .npy files; stored or deflated entries, float32 and int types). */
import { inflateRawSync } from 'node:zlib';
import type { Tensor } from '../../tensor.js';

const CENTRAL_ENTRY = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;

export function readNpz(bytes: Uint8Array): Map<string, Tensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END_OF_DIRECTORY) end--;
  if (end < 0) throw new Error('no end of central directory: not a ZIP archive');
  const out = new Map<string, Tensor>();
  let at = view.getUint32(end + 16, true);
  for (let entry = view.getUint16(end + 10, true); entry > 0; entry--) {
    if (view.getUint32(at, true) !== CENTRAL_ENTRY) throw new Error('broken central directory');
    const method = view.getUint16(at + 10, true);
    const packedBytes = view.getUint32(at + 20, true);
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true)) as [
      number,
      number,
      number,
    ];
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameBytes));
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const packed = bytes.subarray(start, start + packedBytes);
    out.set(name.replace(/\.npy$/, ''), readNpy(method === 0 ? packed : inflateRawSync(packed)));
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return out;
}

function readNpy(bytes: Uint8Array): Tensor {
  const wide = bytes[6]! >= 2;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = (wide ? 12 : 10) + length;
  const header = new TextDecoder().decode(bytes.subarray(wide ? 12 : 10, start));
  const dtype = /'descr':\s*'([^']+)'/.exec(header)![1]!;
  const shape = [.../'shape':\s*\(([^)]*)\)/.exec(header)![1]!.matchAll(/\d+/g)].map(([side]) => Number(side));
  if (/'fortran_order':\s*True/.test(header)) throw new Error('Fortran order');
  const body = Uint8Array.from(bytes.subarray(start)).buffer;
  switch (dtype) {
    case '<f4':
      return { type: 'float32', shape, data: new Float32Array(body) };
    case '|i1':
      return { type: 'int8', shape, data: new Int8Array(body) };
    case '|u1':
      return { type: 'uint8', shape, data: new Uint8Array(body) };
    case '<i4':
      return { type: 'int32', shape, data: new Int32Array(body) };
    default:
      throw new Error(`dtype ${dtype}`);
  }
}
