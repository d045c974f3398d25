/** Why a node cannot be lowered; collected over the whole model before anything is thrown. */

export interface Refusal {
  readonly node: string;
  readonly op: string;
  readonly reason: string;
  readonly mend: string;
}

/** What an operator's check returns: null where the node can be lowered. */
export type Problem = { readonly reason: string; readonly mend: string } | null;
