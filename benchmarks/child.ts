/** The process that inChild() starts: takes one task, sends one result, ends. */
import { measureCommitment } from './suites/commitment-measure.js';
import { measureField } from './suites/field-measure.js';
import { measureInference } from './suites/inference-measure.js';
import { measureProver } from './suites/prover-measure.js';

const MEASUREMENTS = {
  commitment: measureCommitment,
  field: measureField,
  inference: measureInference,
  prover: measureProver,
};
export type Measurements = typeof MEASUREMENTS;

process.once('message', (message: { kind: keyof Measurements; task: never }) => {
  void MEASUREMENTS[message.kind](message.task).then((result) => {
    process.send!(result, () => process.exit(0));
  });
});
