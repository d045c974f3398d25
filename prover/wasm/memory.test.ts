import { expect, it } from 'vitest';
import { LinearMemory } from './memory.js';
import { PAGE_BYTES, webAssembly } from './webassembly.js';

const BASE = PAGE_BYTES;

function memoryOf(maximumPages: number): LinearMemory {
  const memory = new webAssembly.Memory({ initial: 1, maximum: maximumPages });
  return new LinearMemory(memory, BASE, maximumPages * PAGE_BYTES);
}

it('hands out aligned, disjoint buffers and grows', () => {
  const memory = memoryOf(10);
  const [a, b, c] = [memory.allocate(5), memory.allocate(0), memory.allocate(3 * PAGE_BYTES)];
  expect([a, b, c].map((pointer) => pointer % 16)).toEqual([0, 0, 0]);
  expect(b).toBeGreaterThanOrEqual(a + 5);
  expect(c).toBeGreaterThanOrEqual(b);
  memory.bytes[c + 3 * PAGE_BYTES - 1] = 7;
  expect(memory.view.getUint8(c + 3 * PAGE_BYTES - 1)).toBe(7);
});

it('frees what came after a mark, also when the work throws', () => {
  const memory = memoryOf(10);
  const mark = memory.mark();
  const first = memory.allocate(100);
  memory.release(mark);
  expect(memory.allocate(10)).toBe(first);
  const before = memory.usedBytes;
  expect(memory.scoped(() => memory.allocate(1000))).toBe(before);
  expect(() =>
    memory.scoped(() => {
      memory.allocate(1000);
      throw new Error('inside');
    }),
  ).toThrow('inside');
  expect(memory.usedBytes).toBe(before);
  expect(() => memory.release(before + 16)).toThrow(/above the top/);
});

it('refuses what does not fit, and stays usable', () => {
  const memory = memoryOf(4);
  expect(() => memory.allocate(4 * PAGE_BYTES)).toThrow(
    expect.objectContaining({
      code: 'PROVER_MEMORY',
      meta: { neededBytes: 5 * PAGE_BYTES, maximumBytes: 4 * PAGE_BYTES },
    }),
  );
  memory.allocate(3 * PAGE_BYTES);
  expect(() => memory.allocate(1)).toThrow(/may use 0.3 MiB/);
});

it('reserves room ahead', () => {
  const memory = memoryOf(8);
  memory.reserve(5 * PAGE_BYTES);
  const { buffer } = memory.bytes;
  memory.allocate(5 * PAGE_BYTES);
  expect(memory.bytes.buffer).toBe(buffer);
  expect(() => memory.reserve(4 * PAGE_BYTES)).toThrow(/the prover needs/);
});

it('says when the platform gives no more', () => {
  // The memory itself stops at 3 pages, short of what it was said to reach.
  const memory = new LinearMemory(new webAssembly.Memory({ initial: 1, maximum: 3 }), BASE, 100 * PAGE_BYTES);
  expect(() => memory.allocate(50 * PAGE_BYTES)).toThrow(expect.objectContaining({ code: 'PROVER_MEMORY' }));
});
