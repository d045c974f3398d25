/**
 * Prepares a float model for the shapes of the input at hand. An ONNX file may leave dimensions open; the engines
 * that walk the nodes themselves need them bound, so a symbol takes the side that the given tensor has.
 */
import { AssayError } from '../../common/errors.js';
import { prepareModel } from '../../graph/index.js';
import type { OnnxModel, PreparedModel, Tensor } from '../../graph/index.js';

/**
 * @returns a function that gives the model prepared for a set of input tensors; one preparation per set of shapes.
 * @throws AssayError ONNX_INPUT_INVALID where a tensor is missing, has another type or rank, or contradicts a fixed side or a symbol.
 */
export function prepareFor(model: OnnxModel): (inputs: ReadonlyMap<string, Tensor>) => PreparedModel {
  const prepared = new Map<string, PreparedModel>();
  return (inputs) => {
    const dims = bindDimensions(model, inputs);
    const key = JSON.stringify(Object.entries(dims).sort());
    let found = prepared.get(key);
    if (found === undefined) {
      found = prepareModel(model, { dims });
      prepared.set(key, found);
    }
    return found;
  };
}

function bindDimensions(model: OnnxModel, inputs: ReadonlyMap<string, Tensor>): Record<string, number> {
  const dims: Record<string, number> = {};
  for (const info of model.inputs) {
    const tensor = inputs.get(info.name);
    const expected = `[${info.shape.map((side) => side ?? '?').join(', ')}]`;
    if (tensor === undefined) {
      throw new AssayError('ONNX_INPUT_INVALID', `input ${info.name} of shape ${expected} is missing`, {
        meta: { input: info.name, expected },
      });
    }
    const found = `[${tensor.shape.join(', ')}]`;
    const contradiction = (): AssayError =>
      new AssayError('ONNX_INPUT_INVALID', `input ${info.name}: expected shape ${expected}, found ${found}`, {
        meta: { input: info.name, expected, found },
      });
    if (tensor.type !== info.type) {
      throw new AssayError('ONNX_INPUT_INVALID', `input ${info.name}: expected ${info.type}, found ${tensor.type}`, {
        meta: { input: info.name, expected: info.type, found: tensor.type },
      });
    }
    if (tensor.shape.length !== info.shape.length) throw contradiction();
    info.shape.forEach((side, axis) => {
      const given = tensor.shape[axis]!;
      if (typeof side === 'number' && side !== given) throw contradiction();
      if (typeof side === 'string') {
        if (dims[side] !== undefined && dims[side] !== given) throw contradiction();
        dims[side] = given;
      }
    });
  }
  return dims;
}
