/** How near answers are to those of the float model, by onnxruntime, and to the right classes. */
import type { Samples } from '../../graph/index.js';
import { metric, type Metric } from '../report.js';

/** Outputs of one item, one after the other. */
export type Answer = readonly number[];

/** The float model on each sample. */
export async function floatAnswers(file: Uint8Array, samples: Samples): Promise<Answer[]> {
  const ort = await import('onnxruntime-node');
  const session = await ort.InferenceSession.create(file, { executionProviders: ['cpu'], logSeverityLevel: 3 });
  const answers: Answer[] = [];
  for (const sample of samples) {
    const feeds = Object.fromEntries(
      [...sample].map(([name, { data, shape }]) => [name, new ort.Tensor('float32', data as Float32Array, shape)]),
    );
    const outputs = await session.run(feeds);
    answers.push(session.outputNames.flatMap((name) => Array.from(outputs[name]!.data as Float32Array)));
  }
  await session.release();
  return answers;
}

/**
 * Over all items: the largest difference from float, the share of items whose largest output stands where float has it,
 * and where there are labels, the share that is classified rightly.
 */
export function accuracyMetrics(
  answers: readonly Answer[],
  float: readonly Answer[],
  labels: Uint8Array | null,
): Record<string, Metric> {
  const share = (right: (item: number) => boolean): Metric => {
    const count = answers.filter((_, item) => right(item)).length;
    return { ...metric([count / answers.length], 'ratio'), n: answers.length };
  };
  const errors = answers.map((answer, item) => Math.max(...answer.map((v, i) => Math.abs(v - float[item]![i]!))));
  return {
    errorAgainstFloat: metric(errors, 'value'),
    ...(float[0]!.length < 2 ? {} : { agreementWithFloat: share((i) => largest(answers[i]!) === largest(float[i]!)) }),
    ...(labels === null ? {} : { labelAccuracy: share((i) => largest(answers[i]!) === labels[i]) }),
  };
}

const largest = (answer: Answer): number => answer.indexOf(Math.max(...answer));
