import type { AgreementReport, Bundle } from '../graph/index.js';
import { table } from './terminal.js';

/** The compile report of a bundle, for people. */
export function reportText(bundle: Bundle): string {
  const { report, graph } = bundle;
  const ports = (kind: 'inputs' | 'outputs') =>
    bundle[kind].map((port, i) => {
      const tensor = graph.tensors[graph[kind][i]!]!;
      const { lo, hi } = tensor.range;
      return `  ${port.name}  ${port.type}[${port.shape.join(', ')}]  as integers ${lo}..${hi}, scale ${tensor.scale.toPrecision(4)}`;
    });
  const sections = [
    `model ${report.modelName} (opset ${report.opset}): ${report.parameters} parameters, ${report.macs} multiply-accumulates an item`,
    `inputs\n${ports('inputs').join('\n')}\noutputs\n${ports('outputs').join('\n')}`,
    `nodes\n${table(
      ['node', 'operator', 'became'],
      report.nodes.map((n) => [n.node, n.op, n.loweredTo]),
    )}`,
    `tensors\n${table(
      ['tensor', 'range', 'scale', 'chosen by', 'cut off'],
      report.tensors.map((t) => [
        t.tensor,
        `${t.lo}..${t.hi}`,
        t.scale.toPrecision(4),
        t.calibration,
        `${(100 * t.saturationShare).toFixed(3)} %`,
      ]),
    )}`,
    `largest accumulator ${report.largestAccumulator.magnitude} in ${report.largestAccumulator.tensor} (float32 is exact below ${2 ** 24})`,
    agreementText('calibration set', report.calibration),
  ];
  if (report.heldOut !== null) sections.push(agreementText('held-out set', report.heldOut));
  if (report.warnings.length > 0) sections.push(`warnings\n${report.warnings.map((w) => `  ${w}`).join('\n')}`);
  return sections.join('\n\n');
}

function agreementText(set: string, agreement: AgreementReport): string {
  const lines = [`float against integer, ${set} (${agreement.samples} samples)`];
  if (agreement.labelAgreement !== null) lines.push(`  same label  ${(100 * agreement.labelAgreement).toFixed(2)} %`);
  lines.push(
    `  error       mean ${agreement.meanAbsError.toPrecision(3)}, max ${agreement.maxAbsError.toPrecision(3)}`,
  );
  const integers = agreement.integerDifferences;
  if (integers !== undefined) {
    lines.push(
      `  ONNX rounding  ${integers.differing} of ${integers.elements} integers differ, by at most ${integers.maxUnits}`,
    );
  }
  return lines.join('\n');
}
