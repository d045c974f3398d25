import { AssayError } from '../../common/errors.js';
import type { Tensor } from '../tensor.js';
import type { KnownValue, PreparedModel } from './model.js';
import { Application } from './operators/operator.js';
import { operatorOf } from './operators/registry.js';

/**
 * The float reference: every value of the model on one set of inputs. Operators compute in float64 and round
 * to their output's type once; integers wrap. Arrays may be shared between values and are not to be written.
 *
 * @param inputs one tensor for each model input, of its type and shape.
 * @returns every input, initializer and node output by name.
 * @throws ONNX_INPUT_INVALID naming the input, or the node that meets data it has no meaning for.
 */
export function evaluateModel(model: PreparedModel, inputs: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>(model.initializers);
  for (const input of model.inputs) tensors.set(input.name, checkedInput(input, inputs.get(input.name)));
  for (const name of inputs.keys()) {
    if (model.inputs.every((input) => input.name !== name)) {
      const known = model.inputs.map((input) => JSON.stringify(input.name)).join(', ');
      throw new AssayError('ONNX_INPUT_INVALID', `The model has no input ${JSON.stringify(name)}; it has ${known}.`, {
        meta: { input: name },
      });
    }
  }
  for (const node of model.nodes) {
    const operator = operatorOf(node, model.opset);
    if ('reason' in operator) {
      throw new AssayError(
        'INTERNAL',
        `Node ${JSON.stringify(node.name)} (${node.op}) of a prepared model: ${operator.reason}.`,
      );
    }
    const operands = node.inputs.map((name) => {
      if (name === '') return null;
      const value = tensors.get(name)!;
      return { name, type: value.type, shape: value.shape, value };
    });
    const results = operator.evaluate(new Application(node, model.opset, operands));
    node.outputs.forEach((name, index) => {
      if (name === '') return;
      const result = results[index]!;
      const expected = model.values.get(name)!;
      if (!fits(result, expected)) {
        throw new AssayError(
          'INTERNAL',
          `Node ${JSON.stringify(node.name)} (${node.op}) gives ${result.type} [${result.shape.join(', ')}] where ${expected.type} [${expected.shape.join(', ')}] was inferred.`,
        );
      }
      tensors.set(name, result);
    });
  }
  return tensors;
}

function checkedInput(input: KnownValue, tensor: Tensor | undefined): Tensor {
  const expected = `${input.type} [${input.shape.join(', ')}]`;
  if (tensor === undefined) {
    throw new AssayError(
      'ONNX_INPUT_INVALID',
      `The input ${JSON.stringify(input.name)} is missing; expected ${expected}.`,
      {
        meta: { input: input.name },
      },
    );
  }
  if (!fits(tensor, input)) {
    throw new AssayError(
      'ONNX_INPUT_INVALID',
      `The input ${JSON.stringify(input.name)} is ${tensor.type} [${tensor.shape.join(', ')}] with ${tensor.data.length} elements; expected ${expected}.`,
      { meta: { input: input.name, expected: input.shape, found: tensor.shape } },
    );
  }
  return tensor;
}

function fits(tensor: Tensor, expected: KnownValue): boolean {
  const { shape } = expected;
  if (tensor.type !== expected.type || tensor.shape.length !== shape.length) return false;
  let size = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    if (tensor.shape[axis] !== shape[axis]) return false;
    size *= shape[axis]!;
  }
  return tensor.data.length === size;
}
