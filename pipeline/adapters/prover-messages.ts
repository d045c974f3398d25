/** What a prover node and its thread say to each other. Everything survives structured cloning. */
import type { AssayError } from '../../common/errors.js';
import type { SrsHead } from '../../prover/srs/srs.js';
import type { ModelKey } from '../../prover/verifier/model-key.js';
import type { ProofForecast, ProvedJob } from '../ports.js';

/** The reference string to prove with. */
export type SrsSource =
  /** Its secret is public: for the local development chain alone. */
  | { readonly kind: 'development'; readonly points: number }
  /** A file of `assay srs import`. */
  | { readonly kind: 'file'; readonly path: string };

export interface ProverSettings {
  readonly srs: SrsSource;
  /** CPU threads of one proof; null: one per core, at most 8. */
  readonly threads: number | null;
  readonly memoryBudgetBytes: number;
}

/** The thread's first message. */
export type ProverStart =
  | { readonly kind: 'ready'; readonly srs: SrsHead; readonly srsPoints: number; readonly freeBytes: number }
  | { readonly kind: 'failed'; readonly error: PlainError };

interface AboutModel {
  readonly digest: string;
  /** The encoded bundle; null where the thread should have it already. */
  readonly bundle: Uint8Array | null;
}

export type ProverRequest = { readonly id: number } & (
  | (AboutModel & { readonly kind: 'predict'; readonly items: number })
  | (AboutModel & { readonly kind: 'key' })
  | (AboutModel & {
      readonly kind: 'prove';
      readonly items: number;
      readonly inputs: readonly Int32Array[];
      /** What the proof is tied to. */
      readonly bound: Uint8Array;
    })
  | { readonly kind: 'close' }
);

export type ProverReply = { readonly id: number } & (
  | { readonly kind: 'predicted'; readonly forecast: ProofForecast }
  | { readonly kind: 'key'; readonly key: ModelKey }
  | ({ readonly kind: 'proved' } & ProvedJob)
  /** The thread does not have that bundle: ask again with its bytes. */
  | { readonly kind: 'bundleWanted' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: PlainError }
);

/** An AssayError without its class, which structured cloning does not keep. */
export type PlainError = ReturnType<AssayError['toJSON']>;
