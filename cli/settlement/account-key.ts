/**
 * The private key of the account that acts: from a file or from the environment, never from the command line, which
 * every process of the machine can read. No message quotes any of it.
 */
import type { Command } from 'commander';
import { Wallet } from 'ethers';
import { AssayError } from '../../common/errors.js';
import { readInputFile } from '../files.js';

export interface KeyFlags {
  keyFile?: string;
}

export const KEY_VARIABLE = 'ASSAY_KEY';

export const withKeyOption = (command: Command): Command =>
  command.option('--key-file <file>', `the private key of the account that acts, in hex (default: $${KEY_VARIABLE})`);

/** @throws AssayError CONFIG_INVALID where no key is given, KEY_INVALID, FILE_NOT_FOUND */
export function accountKey({ keyFile }: KeyFlags): Wallet {
  if (keyFile !== undefined) return readKeyFile(keyFile);
  const text = process.env[KEY_VARIABLE];
  if (text === undefined || text === '') {
    throw new AssayError('CONFIG_INVALID', 'no key was given for the account that acts', {
      mend: `Give --key-file FILE, or set ${KEY_VARIABLE}.`,
      meta: { flag: '--key-file' },
    });
  }
  return parseKey(text, `$${KEY_VARIABLE}`);
}

/** @throws AssayError KEY_INVALID, FILE_NOT_FOUND */
export const readKeyFile = (file: string): Wallet => parseKey(new TextDecoder().decode(readInputFile(file)), file);

function parseKey(text: string, source: string): Wallet {
  const key = text.trim();
  const invalid = (found: string): AssayError =>
    new AssayError('KEY_INVALID', `${source}: expected a private key of 64 hex digits, found ${found}`, {
      mend: 'Give the key of an account as 64 hex digits, with or without 0x, and nothing else.',
      meta: { source },
    });
  if (!/^(0x)?[0-9a-fA-F]{64}$/.test(key)) throw invalid(`${key.length} characters that are none`);
  try {
    return new Wallet(key.startsWith('0x') ? key : `0x${key}`);
  } catch {
    // Without its cause, which holds the key.
    throw invalid('a number outside the range of keys');
  }
}
