import { Command } from 'commander';
import { decodeBundle, readOnnx, unsupportedNodes } from '../../graph/index.js';
import { readInputFile } from '../files.js';
import { reportText } from '../report-text.js';
import { table } from '../terminal.js';
import { terminalOf } from './common-options.js';

export function inspectCommand(): Command {
  return new Command('inspect')
    .description('Show what a bundle holds and how it was compiled, or which nodes of an ONNX file are supported.')
    .argument('<file>', 'a bundle (.assay) or an .onnx file')
    .action((file: string, _flags: unknown, command: Command) => {
      const terminal = terminalOf(command);
      const bytes = readInputFile(file);
      if (file.toLowerCase().endsWith('.onnx')) {
        const model = readOnnx(bytes, file);
        const unsupported = unsupportedNodes(model);
        const { name, opset, producer, inputs, outputs, nodes } = model;
        const list = unsupported.map((n) => [n.node, n.op, n.reason, n.mend]);
        terminal.result(
          { name, opset, producer, inputs, outputs, nodes: nodes.length, unsupported },
          `${file}: ONNX model "${name}", opset ${opset}, ${nodes.length} nodes\n` +
            `inputs  ${inputs.map((i) => `${i.name} ${i.type}[${i.shape.join(', ')}]`).join('; ')}\n` +
            `outputs ${outputs.map((o) => `${o.name} ${o.type}[${o.shape.join(', ')}]`).join('; ')}\n` +
            (list.length === 0 ? 'every node is supported' : table(['node', 'operator', 'why not', 'mend'], list)),
        );
        return;
      }
      const bundle = decodeBundle(bytes, file);
      terminal.result(
        {
          digest: bundle.digest,
          sourceHash: bundle.sourceHash,
          inputs: bundle.inputs,
          outputs: bundle.outputs,
          report: bundle.report,
        },
        `${reportText(bundle)}\n\nmodel digest ${bundle.digest}\nsource hash  ${bundle.sourceHash}`,
      );
    });
}
