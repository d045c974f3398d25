/** The economics of the sampled lane: when honesty pays, how likely a lie is found, what checkers are paid. */
export * from './rational.js';
export * from './incentives.js';
export * from './detection.js';
export * from './checkers.js';
export * from './job-money.js';
export * from './simulate.js';
