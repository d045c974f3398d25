export * from './draw-batch.js';
export * from './adjudicate.js';
export * from './compare-outputs.js';
export * from './detection-probability.js';
export * from './rank-checkers.js';
export * from './draw-jobs.js';
