/** What a caller of `compileModel` may choose. */
import type { Tensor } from '../tensor.js';

/** One map of input tensors per sample, each with batch 1. */
export type Samples = readonly ReadonlyMap<string, Tensor>[];

/**
 * How the range of an activation is chosen from its calibration statistics: the largest magnitude seen, the 99.9th
 * percentile of the magnitude, the range with the least mean squared error, or (auto) whichever of those has the
 * smallest measured error.
 */
export type CalibrationMethod = 'auto' | 'max' | 'percentile' | 'mse';

export interface CompileProgress {
  readonly step: 'prepare' | 'calibrate' | 'lower' | 'compare';
  readonly done: number;
  readonly total: number;
}

export interface CompileOptions {
  readonly calibration: Samples;
  /** Samples that took no part in calibration, for an honest agreement figure. */
  readonly heldOut?: Samples;
  /** Sizes of symbolic dimensions; a leading batch symbol is 1 by default. */
  readonly dims?: Readonly<Record<string, number>>;
  /** Default 'auto'. */
  readonly calibrationMethod?: CalibrationMethod;
  /** Bits of a weight, 2 to 8; default 8. */
  readonly weightBits?: number;
  /** Bits of an activation, 2 to 8; default 8. */
  readonly activationBits?: number;
  /**
   * 'float32': refuse every accumulator that may reach 2^24. 'split' (default): allow them below 2^31, the exact
   * export then splits the contraction.
   */
  readonly accumulator?: 'split' | 'float32';
  /** A trace of the model commits at least every so-manieth slot, 1 to 512; default 1: every slot. */
  readonly commitEvery?: number;
  /** Outputs of another runtime for a sample, for counting integer differences; the float reference by default. */
  readonly oracle?: (inputs: ReadonlyMap<string, Tensor>) => ReadonlyMap<string, Tensor>;
  readonly onProgress?: (progress: CompileProgress) => void;
}
