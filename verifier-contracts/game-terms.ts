/** How DisputeGame.sol works, as its constructor checks it. */
import { AssayError } from '../common/errors.js';

export interface GameTerms {
  /** From the commit in which a claim may be challenged, by the contract's clock; 1 to 2^32 - 1. */
  readonly window: number;
}

/** The constructor's checks, made before any gas is spent. @throws AssayError GAME_TERMS_INVALID */
export function checkGameTerms({ window }: GameTerms): void {
  if (!Number.isInteger(window) || window < 1 || window > 2 ** 32 - 1) {
    throw new AssayError(
      'GAME_TERMS_INVALID',
      `game: window: expected a whole number from 1 to 4294967295, found ${window}`,
    );
  }
}
