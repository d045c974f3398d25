/**
 * Temporary elements on a stack that belongs to one instance of the module. Instances of several threads share the memory
 * but not their globals, so each gets a stack of its own; there is no static scratch that two threads could write.
 */

let top: usize = 0;

/** Where this instance's stack begins; it grows upwards. */
export function setScratch(base: usize): void {
  top = base;
}

export function push(bytes: usize): usize {
  const base = top;
  top += bytes;
  return base;
}

/** Frees what was pushed at and after `base`. */
export function pop(base: usize): void {
  top = base;
}

/** First byte that is not static data. */
export function staticEnd(): usize {
  return __heap_base;
}
