/** From an ONNX model, float or quantised already, to a bundle. */
import type { AgreementReport, CompileReport } from '../bundle/report.js';
import { makeBundle } from '../bundle/make-bundle.js';
import type { Bundle } from '../bundle/types.js';
import { commitTable } from '../commitment/commit-table.js';
import { validateGraph } from '../integer/validate.js';
import type { OnnxModel } from '../onnx/model.js';
import { measureAgreement } from './agreement.js';
import { calibrate, floatOutputs, type FloatOutputs } from './calibrate.js';
import { checkConstants, checkedSettings, checkSamples } from './check-options.js';
import { modelFacts } from './facts.js';
import { graphReport } from './graph-report.js';
import { lowerModel } from './lower-model.js';
import { Lowering } from './lowering.js';
import type { CompileOptions, Samples } from './options.js';
import { prepareSupported } from './unsupported.js';

/**
 * Steps: prepare and report every unsupported node at once; measure the float model on the calibration samples;
 * lower node by node, choosing scales, multipliers and tables; compare the integer graph with the float model.
 * The same model, samples and options give the same digest. Nothing that is handed in is changed.
 *
 * @throws AssayError UNSUPPORTED_NODES, CONSTANT_NOT_FINITE, CALIBRATION_INVALID, COMPILE_OPTION_INVALID,
 *   BOUND_EXCEEDED (an accumulator that does not fit), and the errors of `prepareModel`.
 */
export function compileModel(source: OnnxModel, options: CompileOptions): Bundle {
  const settings = checkedSettings(options);
  const progress = options.onProgress ?? (() => undefined);

  progress({ step: 'prepare', done: 0, total: 1 });
  const { model, quantisedConstants } = prepareSupported(source, options.dims ?? {});
  checkConstants(model);
  checkSamples(model, options.calibration, 'calibration');
  if (options.heldOut !== undefined) checkSamples(model, options.heldOut, 'held-out');
  const facts = modelFacts(model, quantisedConstants);
  progress({ step: 'prepare', done: 1, total: 1 });

  const samples = options.calibration.length;
  const calibration = calibrate(model, options.calibration, (done) =>
    progress({ step: 'calibrate', done, total: samples }),
  );

  const lowering = new Lowering(model, facts, calibration.statistics, settings);
  const lowered = lowerModel(lowering, source, (done, total) => progress({ step: 'lower', done, total }));
  if (settings.accumulator === 'float32') validateGraph(lowered.graph, { realisation: 'float32' });

  const { graph, inputs, outputs } = lowered;
  const { warnings, ...figures } = graphReport(graph);
  const unmeasured: AgreementReport = { samples: 0, labelAgreement: null, maxAbsError: 0, meanAbsError: 0 };
  const report: CompileReport = {
    modelName: model.name,
    opset: model.opset,
    nodes: lowered.nodes,
    tensors: lowering.tensorReports,
    calibration: unmeasured,
    heldOut: null,
    ...figures,
    warnings: [...lowering.warnings, ...warnings],
  };
  const committedSlots = commitTable(graph, options.commitEvery ?? 1);
  const draft = makeBundle({
    graph,
    inputs,
    outputs,
    sourceHash: source.sourceHash,
    report,
    ...(committedSlots === undefined ? {} : { committedSlots }),
  });

  const total = samples + (options.heldOut?.length ?? 0);
  const compare = (set: Samples, reference: FloatOutputs, before: number): AgreementReport =>
    measureAgreement(draft, set, reference, facts.quantised, options.oracle, (done) =>
      progress({ step: 'compare', done: before + done, total }),
    );
  const measured: CompileReport = {
    ...report,
    calibration: compare(options.calibration, calibration.outputs, 0),
    heldOut:
      options.heldOut === undefined ? null : compare(options.heldOut, floatOutputs(model, options.heldOut), samples),
  };
  return { ...draft, report: { ...measured, warnings: [...report.warnings, ...agreementWarnings(measured)] } };
}

/** Label agreement below this share is worth a look: a model can be made to behave differently once quantised. */
const AGREEMENT_EXPECTED = 0.98;

function agreementWarnings({ calibration, heldOut }: CompileReport): string[] {
  const low = (what: string, agreement: AgreementReport | null): string[] => {
    const share = agreement?.labelAgreement ?? 1;
    if (share >= AGREEMENT_EXPECTED) return [];
    return [
      `integer and float model agree on the label of only ${(100 * share).toFixed(1)} percent of the ${what} samples`,
    ];
  };
  return [...low('calibration', calibration), ...low('held-out', heldOut)];
}
