/** The reference evaluators behind the engine interface: slow, obvious, and what every other engine is held against. */
import { committedTensors, evaluateGraph, evaluateModel } from '../../graph/index.js';
import type { Bundle, OnnxModel, Tensor } from '../../graph/index.js';
import type { Engine, ExactSession, FloatSession } from '../engine.js';
import { predictExactBytes, predictFloatBytes } from '../session-size.js';
import { prepareFor } from './prepare-for.js';

export function referenceEngine(): Engine {
  return {
    name: 'reference',
    version: 'assay reference evaluator',
    loadExact: (bundle) => Promise.resolve(exactSession(bundle)),
    loadFloat: (bytes, model) => Promise.resolve(floatSession(bytes, model)),
    close: () => Promise.resolve(),
  };
}

function exactSession(bundle: Bundle): ExactSession {
  const slots = committedTensors(bundle.graph, bundle.committedSlots);
  return {
    sizeBytes: predictExactBytes(bundle.graph),
    run: async (inputs, items) => {
      const values = evaluateGraph(bundle.graph, inputs, items);
      return slots.map((slot) => values[slot]!);
    },
    close: () => Promise.resolve(),
  };
}

function floatSession(bytes: Uint8Array, model: OnnxModel): FloatSession {
  const prepared = prepareFor(model);
  return {
    sizeBytes: predictFloatBytes(bytes),
    run: async (inputs) => {
      const values = evaluateModel(prepared(inputs), inputs);
      return new Map(model.outputs.map(({ name }): [string, Tensor] => [name, values.get(name)!]));
    },
    close: () => Promise.resolve(),
  };
}
