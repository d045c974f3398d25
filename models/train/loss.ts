/**
 * Mean cross-entropy of softmax(logits) against the labels, and its gradient: (softmax - oneHot) / items.
 * @param logits [items, classes]
 */
export function softmaxCrossEntropy(
  logits: Float64Array,
  labels: Uint8Array,
): { readonly loss: number; readonly gradient: Float64Array; readonly correct: number } {
  const items = labels.length;
  const classes = logits.length / items;
  const gradient = new Float64Array(logits.length);
  let loss = 0;
  let correct = 0;
  for (let item = 0; item < items; item++) {
    const row = logits.subarray(item * classes, (item + 1) * classes);
    const best = argMax(row);
    if (best === labels[item]) correct++;
    // Subtracting the largest logit changes nothing but keeps exp from overflowing.
    let sum = 0;
    for (const logit of row) sum += Math.exp(logit - row[best]!);
    for (let k = 0; k < classes; k++) {
      const probability = Math.exp(row[k]! - row[best]!) / sum;
      gradient[item * classes + k] = (probability - (k === labels[item] ? 1 : 0)) / items;
    }
    loss += Math.log(sum) - (row[labels[item]!]! - row[best]!);
  }
  return { loss: loss / items, gradient, correct };
}

/** Index of the largest element; the smallest such index on a tie. */
export function argMax(row: ArrayLike<number>): number {
  let best = 0;
  for (let k = 1; k < row.length; k++) if (row[k]! > row[best]!) best = k;
  return best;
}
