import { resolve } from 'node:path';
import { Command } from 'commander';
import { AssayError } from '../../common/errors.js';
import { decodeBundle, encodeBundle, makeBundle } from '../../graph/index.js';
import {
  encodeModelKey,
  modelKeyDigest,
  modelKeyHash,
  openArithmetic,
  predictJob,
  ZkProver,
} from '../../prover/index.js';
import { checkWritable, readInputFile, writeOutputFile } from '../files.js';
import { openSrs, withSrsOptions, type SrsFlags } from '../reference-string.js';
import { withoutKey } from '../without-key.js';
import { terminalOf } from './common-options.js';

interface KeyFlags extends SrsFlags {
  out: string;
  bundleOut?: string;
}

export function keyCommand(): Command {
  const command = new Command('key')
    .description('Make the key that proofs about a model are checked with: commitments to its weights and tables.')
    .argument('<bundle>', 'a bundle (.assay)')
    .requiredOption('-o, --out <file>', 'where to write the key (.assaykey)')
    .option('--bundle-out <file>', 'write the bundle again with the key in its identity: receipts then name both');
  return withSrsOptions(command).action(async (file: string, flags: KeyFlags, own: Command) => {
    const terminal = terminalOf(own);
    checkWritable(flags.out);
    if (flags.bundleOut !== undefined) {
      checkWritable(flags.bundleOut);
      if (resolve(flags.bundleOut) === resolve(flags.out))
        throw new AssayError('CONFIG_INVALID', `--out and --bundle-out both name ${flags.out}`, {
          mend: 'Give the key and the bundle a file each.',
        });
    }
    const bundle = withoutKey(decodeBundle(readInputFile(file), file));
    const { srsPoints } = predictJob(bundle.graph, 1);
    const arithmetic = await openArithmetic();
    try {
      const srs = openSrs(flags, srsPoints, arithmetic);
      const progress = terminal.progress('committing to the weights', null);
      const key = new ZkProver({ arithmetic, srs }).keyOf(bundle);
      progress.done();
      const bytes = encodeModelKey({ key, srs });
      writeOutputFile(flags.out, bytes);
      const [keyHash, modelDigest] = [modelKeyHash(key), modelKeyDigest(key)];
      if (flags.bundleOut !== undefined)
        writeOutputFile(flags.bundleOut, encodeBundle(makeBundle({ ...bundle, modelKeyHash: keyHash })));
      terminal.result(
        { key: flags.out, sizeBytes: bytes.length, keyHash, modelDigest, bundle: flags.bundleOut ?? null },
        `wrote ${flags.out} (${bytes.length} bytes)\nkey hash     ${keyHash}\nmodel digest ${modelDigest}` +
          (flags.bundleOut === undefined
            ? `\nThe bundle itself still has the digest ${bundle.digest}; --bundle-out writes it with the key.`
            : `\nwrote ${flags.bundleOut}`),
      );
    } finally {
      await arithmetic.close();
    }
  });
}
