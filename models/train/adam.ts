import type { Parameter } from './layer.js';

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

/**
 * Adam with decoupled weight decay.
 * Sources: Kingma and Ba, Adam, 2015, algorithm 1; Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019,
 * algorithm 2.
 */
export class Adam {
  private step = 0;
  private readonly moments: readonly { readonly first: Float64Array; readonly second: Float64Array }[];

  /** @param decay share of each decaying weight that is taken off per unit of learning rate. */
  constructor(
    private readonly parameters: readonly Parameter[],
    private readonly decay: number,
  ) {
    this.moments = parameters.map(({ value }) => ({
      first: new Float64Array(value.length),
      second: new Float64Array(value.length),
    }));
  }

  /** Moves every parameter against its gradient and clears the gradient. */
  update(learningRate: number): void {
    this.step++;
    const correction1 = 1 - BETA1 ** this.step;
    const correction2 = 1 - BETA2 ** this.step;
    for (const [index, { value, gradient, decays }] of this.parameters.entries()) {
      const { first, second } = this.moments[index]!;
      const kept = decays ? 1 - learningRate * this.decay : 1;
      for (let i = 0; i < value.length; i++) {
        const g = gradient[i]!;
        first[i] = BETA1 * first[i]! + (1 - BETA1) * g;
        second[i] = BETA2 * second[i]! + (1 - BETA2) * g * g;
        const move = first[i]! / correction1 / (Math.sqrt(second[i]! / correction2) + EPSILON);
        value[i] = kept * value[i]! - learningRate * move;
      }
      gradient.fill(0);
    }
  }
}
