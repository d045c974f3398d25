/**
 * The bundle file.
 *
 *   offset  bytes
 *   0       8   magic "ASSAYBDL"
 *   8       4   format version, uint32 little-endian
 *   12      8   length of the whole file, uint64 little-endian
 *   20      32  keccak256 of everything from offset 52 on
 *   52          sections until the end: 4 bytes tag (ASCII), uint64 length, that many bytes
 *
 * Sections, each once, in this order:
 *   GRPH  JSON (UTF-8): the graph; arrays of numbers stand as { blob: type, start, length } into BLOB (start in bytes)
 *   BLOB  the arrays, little-endian, each at the next offset
 *   META  JSON: ports, source hash; hash of the model's key and numbers of committed slots where there are such
 *   REPT  JSON: the compile report
 * Keys of JSON objects are sorted, so that the same bundle gives the same bytes. The digest is not stored: whoever reads recomputes it.
 */
import { AssayError } from '../../common/errors.js';
import { keccak256 } from '../commitment/keccak.js';
import { validateGraph } from '../integer/validate.js';
import { makeBundle } from './make-bundle.js';
import { graphSchema, metaSchema, reportSchema } from './schema.js';
import type { IntegerGraph } from '../integer/types.js';
import type { CompileReport } from './report.js';
import type { Bundle } from './types.js';

const MAGIC = 'ASSAYBDL';
export const BUNDLE_VERSION = 1;
const HEADER_BYTES = 52;
/** A graph's JSON is seven deep (nodes, terms, constants); deeper nesting is not one. */
const NESTING_LIMIT = 16;
const SECTIONS = ['GRPH', 'BLOB', 'META', 'REPT'] as const;
type SectionTag = (typeof SECTIONS)[number];

const ARRAYS = { int8: Int8Array, int16: Int16Array, int32: Int32Array } as const;
type BlobType = keyof typeof ARRAYS;
type BlobArray = Int8Array | Int16Array | Int32Array;

interface BlobReference {
  readonly blob: BlobType;
  readonly start: number;
  readonly length: number;
}

const blobType = (array: BlobArray): BlobType => {
  if (array instanceof Int8Array) return 'int8';
  return array instanceof Int16Array ? 'int16' : 'int32';
};

/** Little-endian bytes of an array. */
function arrayBytes(array: BlobArray): Uint8Array {
  const bytes = new Uint8Array(array.byteLength);
  const view = new DataView(bytes.buffer);
  array.forEach((v, i) => {
    if (array.BYTES_PER_ELEMENT === 1) view.setInt8(i, v);
    else if (array.BYTES_PER_ELEMENT === 2) view.setInt16(2 * i, v, true);
    else view.setInt32(4 * i, v, true);
  });
  return bytes;
}

function readArray(bytes: Uint8Array, reference: BlobReference): BlobArray | null {
  const { BYTES_PER_ELEMENT: width } = ARRAYS[reference.blob];
  if (reference.start + reference.length * width > bytes.length) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset + reference.start, reference.length * width);
  const read = (i: number): number => {
    if (width === 1) return view.getInt8(i);
    return width === 2 ? view.getInt16(2 * i, true) : view.getInt32(4 * i, true);
  };
  const array = new ARRAYS[reference.blob](reference.length);
  for (let i = 0; i < array.length; i++) array[i] = read(i);
  return array;
}

/** JSON with the keys of every object sorted; `replace` sees each value first. */
function canonicalJson(value: unknown, replace: (value: unknown) => unknown = (v) => v): Uint8Array {
  const text = JSON.stringify(value, (_, original: unknown) => {
    const v = replace(original);
    if (typeof v !== 'object' || v === null || Array.isArray(v)) return v;
    return Object.fromEntries(Object.entries(v).sort(([p], [q]) => (p < q ? -1 : 1)));
  });
  return new TextEncoder().encode(text);
}

function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** The bundle as the bytes of a file. */
export function encodeBundle(bundle: Bundle): Uint8Array {
  const blobs: Uint8Array[] = [];
  let blobBytes = 0;
  const toBlob = (value: unknown): unknown => {
    if (!(value instanceof Int8Array || value instanceof Int16Array || value instanceof Int32Array)) return value;
    const bytes = arrayBytes(value);
    const reference: BlobReference = { blob: blobType(value), start: blobBytes, length: value.length };
    blobs.push(bytes);
    blobBytes += bytes.length;
    return reference;
  };
  const graph = canonicalJson(bundle.graph, toBlob);
  const contents: Record<SectionTag, Uint8Array> = {
    GRPH: graph,
    BLOB: joinBytes(blobs),
    META: canonicalJson({
      inputs: bundle.inputs,
      outputs: bundle.outputs,
      sourceHash: bundle.sourceHash,
      ...(bundle.modelKeyHash === undefined ? {} : { modelKeyHash: bundle.modelKeyHash }),
      ...(bundle.committedSlots === undefined ? {} : { committedSlots: bundle.committedSlots }),
    }),
    REPT: canonicalJson(bundle.report),
  };
  const body = joinBytes(
    SECTIONS.flatMap((tag) => {
      const head = new Uint8Array(12);
      head.set(new TextEncoder().encode(tag));
      new DataView(head.buffer).setBigUint64(4, BigInt(contents[tag].length), true);
      return [head, contents[tag]];
    }),
  );
  const header = new Uint8Array(HEADER_BYTES);
  const view = new DataView(header.buffer);
  header.set(new TextEncoder().encode(MAGIC));
  view.setUint32(8, BUNDLE_VERSION, true);
  view.setBigUint64(12, BigInt(HEADER_BYTES + body.length), true);
  header.set(keccak256(body), 20);
  return joinBytes([header, body]);
}

/** What a file without our magic probably is. */
function describeForeign(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'it is empty';
  // ONNX: field 1 (ir_version) as a varint below 64, then a length-delimited field (producer, graph or opset import).
  if (bytes[0] === 0x08 && bytes[1]! > 0 && bytes[1]! < 64 && (bytes[2]! & 7) === 2) return 'this is an ONNX file';
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) return 'this is a ZIP archive';
  if (bytes[0] === 0x7b || bytes[0] === 0x5b) return 'this looks like JSON';
  return 'its first bytes are unknown';
}

/** Sections by tag, after checking header, length and checksum. */
function readSections(bytes: Uint8Array, fileName: string): Record<SectionTag, Uint8Array> {
  const corrupt = (message: string): AssayError =>
    new AssayError('BUNDLE_CORRUPT', `${fileName}: ${message}`, { meta: { file: fileName } });
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, MAGIC.length));
  if (start !== MAGIC) {
    if (bytes.length > 0 && MAGIC.startsWith(start))
      throw corrupt(`truncated: ${bytes.length} bytes of the header's ${HEADER_BYTES}`);
    const found = describeForeign(bytes);
    throw new AssayError('NOT_A_BUNDLE', `${fileName}: ${found}, expected a bundle`, {
      meta: { file: fileName },
      ...(found.includes('ONNX') ? { mend: 'Run `assay compile` on it first.' } : {}),
    });
  }
  if (bytes.length < 12) throw corrupt(`truncated: ${bytes.length} bytes of the header's ${HEADER_BYTES}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true);
  if (version !== BUNDLE_VERSION)
    throw new AssayError(
      'BUNDLE_VERSION',
      `${fileName}: bundle format version ${version}, expected ${BUNDLE_VERSION}`,
      { meta: { file: fileName, found: version, expected: BUNDLE_VERSION } },
    );
  if (bytes.length < HEADER_BYTES) throw corrupt(`truncated: ${bytes.length} bytes of the header's ${HEADER_BYTES}`);
  const length = view.getBigUint64(12, true);
  if (BigInt(bytes.length) < length) throw corrupt(`truncated: ${bytes.length} bytes, its header says ${length}`);
  if (BigInt(bytes.length) > length)
    throw corrupt(`${BigInt(bytes.length) - length} surplus bytes after the ${length} that its header says`);
  const body = bytes.subarray(HEADER_BYTES);
  const expected = Buffer.from(bytes.subarray(20, HEADER_BYTES)).toString('hex');
  const found = Buffer.from(keccak256(body)).toString('hex');
  if (expected !== found) throw corrupt(`checksum ${found} differs from ${expected} in its header`);

  const sections: Partial<Record<SectionTag, Uint8Array>> = {};
  let offset = HEADER_BYTES;
  for (const tag of SECTIONS) {
    if (offset + 12 > bytes.length) throw corrupt(`section ${tag} is missing`);
    const name = new TextDecoder('latin1').decode(bytes.subarray(offset, offset + 4));
    if (name !== tag) throw corrupt(`section ${JSON.stringify(name)} where ${tag} was expected`);
    const size = view.getBigUint64(offset + 4, true);
    if (size > BigInt(bytes.length - offset - 12))
      throw corrupt(`section ${tag} of ${size} bytes does not fit the file`);
    sections[tag] = bytes.subarray(offset + 12, offset + 12 + Number(size));
    offset += 12 + Number(size);
  }
  if (offset !== bytes.length) throw corrupt(`${bytes.length - offset} surplus bytes after the last section`);
  return sections as Record<SectionTag, Uint8Array>;
}

/**
 * Reads and checks a bundle: form, graph rules and bounds; recomputes the digest.
 * @param fileName for messages.
 * @throws AssayError NOT_A_BUNDLE, BUNDLE_VERSION, BUNDLE_CORRUPT, GRAPH_INVALID, BOUND_EXCEEDED
 */
export function decodeBundle(bytes: Uint8Array, fileName: string): Bundle {
  try {
    return readBundle(bytes, fileName);
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    // A file is untrusted: where reading it fails in a way nobody foresaw, it is the file that is refused.
    throw new AssayError('BUNDLE_CORRUPT', `${fileName}: it cannot be read: ${String(cause)}`, {
      meta: { file: fileName },
      cause,
    });
  }
}

function readBundle(bytes: Uint8Array, fileName: string): Bundle {
  const sections = readSections(bytes, fileName);
  const corrupt = (message: string, cause?: unknown): AssayError =>
    new AssayError('BUNDLE_CORRUPT', `${fileName}: ${message}`, { meta: { file: fileName }, cause });
  const parse = <T>(
    tag: SectionTag,
    schema: {
      safeParse(
        value: unknown,
      ):
        | { success: true; data: T }
        | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
    },
    value: unknown,
  ): T => {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const issue = result.error.issues[0]!;
    throw corrupt(`section ${tag}: ${issue.path.map(String).join('.') || 'content'}: ${issue.message}`);
  };
  const json = (tag: SectionTag): unknown => {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(sections[tag]));
    } catch (cause) {
      throw corrupt(`section ${tag} is not JSON`, cause);
    }
  };

  let used = 0;
  const arrays = (value: unknown, depth = 0): unknown => {
    if (depth > NESTING_LIMIT) throw corrupt('section GRPH is nested too deeply');
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((v) => arrays(v, depth + 1));
    const entries = value as Record<string, unknown>;
    if (!('blob' in entries))
      return Object.fromEntries(Object.entries(entries).map(([key, v]) => [key, arrays(v, depth + 1)]));
    const { blob, start, length } = entries;
    const isReference =
      typeof blob === 'string' &&
      Object.hasOwn(ARRAYS, blob) &&
      start === used &&
      Number.isSafeInteger(length) &&
      (length as number) >= 0;
    const array = isReference ? readArray(sections.BLOB, entries as unknown as BlobReference) : null;
    if (array === null) throw corrupt('section GRPH refers to an array that section BLOB does not hold');
    used += array.byteLength;
    return array;
  };
  const graph = parse('GRPH', graphSchema, arrays(json('GRPH'))) as IntegerGraph;
  if (used !== sections.BLOB.length)
    throw corrupt(`section BLOB has ${sections.BLOB.length} bytes, the graph uses ${used}`);
  const meta = parse('META', metaSchema, json('META'));
  const report = parse('REPT', reportSchema, json('REPT')) as CompileReport;
  validateGraph(graph);
  const { modelKeyHash, committedSlots, ...ports } = meta;
  return makeBundle({
    graph,
    ...ports,
    report,
    ...(modelKeyHash === undefined ? {} : { modelKeyHash }),
    ...(committedSlots === undefined ? {} : { committedSlots }),
  });
}
