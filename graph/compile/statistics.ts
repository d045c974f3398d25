/**
 * Streaming statistics of one tensor over the calibration samples: extremes, and a histogram over a range that
 * doubles when a larger magnitude arrives. Memory is constant whatever the number of samples.
 */

/** Bins per sign. */
const BINS = 4096;

export interface HistogramBin {
  /** Middle of the bin. */
  readonly value: number;
  readonly count: number;
}

export class TensorStatistics {
  min = Infinity;
  max = -Infinity;
  count = 0;
  /** Largest magnitude that the bins cover; a power of two. */
  private reach = 0;
  private readonly negative = new Float64Array(BINS);
  private readonly positive = new Float64Array(BINS);

  /** @param values finite numbers. */
  add(values: ArrayLike<number | bigint>): void {
    for (let i = 0; i < values.length; i++) {
      const x = Number(values[i]!);
      if (x < this.min) this.min = x;
      if (x > this.max) this.max = x;
      const magnitude = Math.abs(x);
      if (magnitude > this.reach) this.grow(magnitude);
      const bin = this.reach === 0 ? 0 : Math.min(BINS - 1, Math.floor((magnitude / this.reach) * BINS));
      if (x < 0) this.negative[bin]!++;
      else this.positive[bin]!++;
    }
    this.count += values.length;
  }

  /** Non-empty bins, rising; the extremes stand at their own value, not at the middle of their bin. */
  bins(): HistogramBin[] {
    const out: HistogramBin[] = [];
    const width = this.reach / BINS;
    for (let bin = BINS - 1; bin >= 0; bin--)
      if (this.negative[bin]! > 0) out.push({ value: -(bin + 0.5) * width, count: this.negative[bin]! });
    for (let bin = 0; bin < BINS; bin++)
      if (this.positive[bin]! > 0) out.push({ value: bin === 0 ? 0 : (bin + 0.5) * width, count: this.positive[bin]! });
    return out.map(({ value, count }) => ({ value: Math.min(Math.max(value, this.min), this.max), count }));
  }

  private grow(magnitude: number): void {
    let reach = this.reach === 0 ? 2 ** Math.ceil(Math.log2(magnitude)) : this.reach;
    let doublings = 0;
    for (; reach < magnitude; doublings++) reach *= 2;
    // After log2(BINS) halvings everything is in the first bin.
    if (this.reach > 0)
      for (let i = 0; i < Math.min(doublings, Math.log2(BINS)); i++) {
        halve(this.negative);
        halve(this.positive);
      }
    this.reach = Math.min(reach, Number.MAX_VALUE);
  }
}

/** Merges neighbouring bins into the lower half. */
function halve(bins: Float64Array): void {
  for (let bin = 0; bin < BINS / 2; bin++) bins[bin] = bins[2 * bin]! + bins[2 * bin + 1]!;
  bins.fill(0, BINS / 2);
}
