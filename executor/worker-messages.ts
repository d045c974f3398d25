/** What an executor node and its worker thread say to each other. Everything survives structured cloning. */
import type { AssayErrorOptions, ErrorCode } from '../common/errors.js';
import type { Tensor } from '../graph/index.js';
import type { Hex } from '../receipts/types.js';
import type { EngineName } from './engine.js';
import type { MissingEngine } from './engines.js';
import type { Execution } from './execute.js';
import type { ModelTest } from './model-test.js';
import type { SelfTestReport } from './self-test.js';

export interface WorkerSettings {
  /** null: the best engine of this machine that is exact. */
  readonly engine: EngineName | null;
  readonly threads: number | null;
  /** Of all loaded sessions together. */
  readonly memoryBudgetBytes: number;
  readonly traceFolder: string;
}

/** The worker's first message. */
export type WorkerStart =
  | {
      readonly kind: 'ready';
      readonly engine: EngineName;
      readonly version: string;
      readonly selfTest: SelfTestReport;
      readonly missing: readonly MissingEngine[];
    }
  | { readonly kind: 'failed'; readonly error: PlainError };

export type WorkerRequest = { readonly id: number } & (
  | {
      readonly kind: 'execute';
      readonly digest: string;
      /** The encoded bundle; null where the worker should have it already. */
      readonly bundle: Uint8Array | null;
      readonly inputs: readonly Int32Array[];
      readonly items: number;
      /** The input root that the order names. */
      /** Null: the caller has checked the inputs against another commitment. */
      readonly expectedInputRoot: Hex | null;
    }
  | {
      readonly kind: 'float';
      readonly bytes: Uint8Array;
      readonly fileName: string;
      readonly inputs: ReadonlyMap<string, Tensor>;
    }
  | { readonly kind: 'close' }
);

export type WorkerReply = { readonly id: number } & (
  | {
      readonly kind: 'executed';
      readonly execution: Execution;
      readonly elapsedMs: number;
      /** How the model was tested on this engine; null where the engine computes on the CPU. */
      readonly modelTest: ModelTest | null;
    }
  | { readonly kind: 'floatDone'; readonly outputs: Map<string, Tensor>; readonly elapsedMs: number }
  /** The worker does not have that bundle (any more): ask again with its bytes. */
  | { readonly kind: 'bundleWanted' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: PlainError }
);

/** An AssayError without its class, which structured cloning does not keep. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly mend: string;
  readonly meta: NonNullable<AssayErrorOptions['meta']>;
}
