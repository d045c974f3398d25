import { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, prepareSupported, readOnnx, type OnnxModel, type ValueInfo } from '../../graph/index.js';
import { readInputFile } from '../files.js';
import { predictionText, provability } from '../proof-cost.js';
import { reportText } from '../report-text.js';
import { table } from '../terminal.js';
import { collectDim, terminalOf } from './common-options.js';

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what a bundle holds and how it was compiled, or which nodes of an ONNX file are supported.')
    .argument('<file>', 'a bundle (.assay) or an .onnx file')
    .option('--dim <name=value>', 'bind a symbolic dimension of an .onnx file; repeat for more', collectDim)
    .action((file: string, flags: { dim?: Record<string, number> }, command: Command) => {
      const terminal = terminalOf(command);
      const bytes = readInputFile(file);
      if (file.toLowerCase().endsWith('.onnx')) {
        const { name, opset, producer, inputs, outputs, nodes, refused } = describeOnnx(
          readOnnx(bytes, file),
          flags.dim ?? {},
        );
        const ports = (all: readonly ValueInfo[]) =>
          all.map((v) => `${v.name} ${v.type}[${v.shape.join(', ')}]`).join('; ');
        terminal.result(
          { name, opset, producer, inputs, outputs, nodes: nodes.length, refused },
          `${file}: ONNX model "${name}", opset ${opset}, ${nodes.length} nodes\n` +
            `inputs  ${ports(inputs)}\noutputs ${ports(outputs)}\n` +
            (refused.length === 0
              ? 'every node can be compiled'
              : table(
                  ['node', 'operator', 'why it cannot be compiled', 'mend'],
                  refused.map((r) => [r.node, r.op, r.reason, r.mend]),
                )),
        );
        return;
      }
      const bundle = decodeBundle(bytes, file);
      const { digest, sourceHash, inputs, outputs, report, modelKeyHash } = bundle;
      const proving = provability(bundle, 1, 'mercury');
      const proof = proving.provable ? `yes: ${predictionText(proving.prediction)}` : `no: ${proving.reason}`;
      terminal.result(
        { digest, sourceHash, inputs, outputs, report, modelKeyHash: modelKeyHash ?? null, proof: proving },
        `${reportText(bundle)}\n\nprovable     ${proof}\nmodel digest ${digest}\nmodel key    ${modelKeyHash ?? 'none (`assay key` makes it)'}\nsource hash  ${sourceHash}`,
      );
    });
}

interface Refused {
  readonly node: string;
  readonly op: string;
  readonly reason: string;
  readonly mend: string;
}

/** The model, and every node that the compiler would refuse. */
function describeOnnx(model: OnnxModel, dims: Record<string, number>): OnnxModel & { refused: readonly Refused[] } {
  try {
    prepareSupported(model, dims);
    return { ...model, refused: [] };
  } catch (error) {
    if (!(error instanceof AssayError) || error.code !== 'UNSUPPORTED_NODES') throw error;
    return { ...model, refused: error.meta['nodes'] as Refused[] };
  }
}
