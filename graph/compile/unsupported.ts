/** One report of every node that cannot be compiled, before anything long is begun. */
import { AssayError } from '../../common/errors.js';
import { prepareModel } from '../onnx/prepare-model.js';
import { unsupportedNodes } from '../onnx/unsupported-nodes.js';
import type { OnnxModel, PreparedModel } from '../onnx/model.js';
import { decompose } from './decompose.js';
import { foldConstants, type FoldedModel } from './fold-constants.js';
import { checkIntegerArithmetic } from './integer-arithmetic.js';
import { OPERATORS } from './lower/index.js';
import type { Refusal } from './refusal.js';

/** Nodes of a prepared model that have no lowering. */
function refusedNodes(model: PreparedModel): Refusal[] {
  return model.nodes.flatMap((node) => {
    const operator = node.domain === '' || node.domain === 'ai.onnx' ? OPERATORS.get(node.op) : undefined;
    const problem =
      operator === undefined
        ? {
            reason: 'the operator has no integer form here',
            mend: 'Replace it by supported operators, or run the model in a float lane.',
          }
        : (checkIntegerArithmetic(node, model) ?? operator.check(node, model));
    return problem === null ? [] : [{ node: node.name, op: node.op, ...problem }];
  });
}

/**
 * The prepared model with its constants folded and its compound operators taken apart.
 * @throws AssayError UNSUPPORTED_NODES listing every node that cannot be compiled, with reason and mend.
 */
export function prepareSupported(source: OnnxModel, dims: Readonly<Record<string, number>>): FoldedModel {
  const unreadable = unsupportedNodes(source, { dims });
  if (unreadable.length > 0) {
    const names = new Set(unreadable.map(({ node }) => node));
    const noLowering = source.nodes.filter((node) => !names.has(node.name) && isRefusedOutright(node.op));
    throw unsupportedError([
      ...unreadable,
      ...noLowering.map((node) => ({
        node: node.name,
        op: node.op,
        ...OPERATORS.get(node.op)!.check(node, source as PreparedModel)!,
      })),
    ]);
  }
  const folded = foldConstants(prepareModel(source, { dims }));
  const constantOutputs = folded.model.outputs
    .filter(({ name }) => folded.model.initializers.has(name))
    .map(({ name }) => ({
      node: name,
      op: 'output',
      reason: 'this output does not depend on the input',
      mend: 'Remove it from the outputs of the model.',
    }));
  const refused = [...refusedPorts(folded.model), ...refusedNodes(folded.model), ...constantOutputs];
  if (refused.length > 0) throw unsupportedError(refused);
  return { ...folded, model: decompose(folded.model) };
}

/** Element types that no port of a bundle can carry. */
const UNREADABLE: ReadonlySet<string> = new Set(['float16', 'bfloat16', 'string']);

function refusedPorts(model: PreparedModel): Refusal[] {
  const refuse = (op: string, infos: PreparedModel['inputs']): Refusal[] =>
    infos
      .filter(({ type }) => UNREADABLE.has(type))
      .map(({ name, type }) => ({
        node: name,
        op,
        reason: `its element type is ${type}; inputs and outputs are float32, float64, integers or bool`,
        mend: 'Export the model with float32 inputs and outputs.',
      }));
  return [...refuse('input', model.inputs), ...refuse('output', model.outputs)];
}

/** Refused whatever its operands are, so that shapes are not needed to say so. */
const isRefusedOutright = (op: string): boolean => op === 'DynamicQuantizeLinear';

function unsupportedError(refused: readonly Refusal[]): AssayError {
  const lines = refused.map(({ node, op, reason, mend }) => `- '${node}' (${op}): ${reason}. ${mend}`);
  return new AssayError(
    'UNSUPPORTED_NODES',
    `${refused.length === 1 ? '1 node' : `${refused.length} nodes`} cannot be compiled:\n${lines.join('\n')}`,
    { meta: { nodes: refused.map((refusal) => ({ ...refusal })) } },
  );
}
