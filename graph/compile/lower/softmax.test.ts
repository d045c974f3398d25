import { describe, expect, test } from 'vitest';
import { compileModel } from '../compile.js';
import { buildModel, floats, gridSamples, random } from '../testing/models.js';

const softmaxOf = (n: number) =>
  buildModel({
    inputs: { x: ['N', n] },
    outputs: { y: ['N', n] },
    nodes: [{ op: 'Softmax', inputs: ['x'], outputs: ['y'], attributes: { axis: 1 } }],
  });

describe('softmax of exactly stored logits', () => {
  test.each([2, 3, 10, 100, 255])('over %d elements is accurate to 1/255', (n) => {
    const sure = new Map([['x', floats([1, n], (i) => (i === 1 ? 127 / 32 : -127 / 32))]]);
    const flat = new Map([['x', floats([1, n], () => 1)]]);
    const calibration = [...gridSamples({ x: [1, n] }, 30, random(n)), sure, flat];
    const { report } = compileModel(softmaxOf(n), { calibration, calibrationMethod: 'max' });
    expect(report.calibration.maxAbsError).toBeLessThan(1 / 255);
    expect(report.calibration.labelAgreement).toBe(1);
  });

  test('over 1,000 elements compiles, with its accuracy in a warning', () => {
    const calibration = gridSamples({ x: [1, 1000] }, 3, random(4));
    const { report } = compileModel(softmaxOf(1000), { calibration, calibrationMethod: 'max' });
    expect(report.warnings.some((warning) => warning.includes('softmax over 1000 elements'))).toBe(true);
    expect(report.calibration.maxAbsError).toBeLessThan(0.04);
  });
});
