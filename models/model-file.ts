import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssayError } from '../common/errors.js';

/**
 * The nearest folder at or above `from` that holds a package.json: the package's root, both from models/ (source) and
 * from dist/models/ (built; the .onnx files are not copied there).
 */
export function packageRoot(from: string): string {
  for (let folder = path.resolve(from); ; folder = path.dirname(folder)) {
    if (existsSync(path.join(folder, 'package.json'))) return folder;
    if (folder === path.dirname(folder)) {
      throw new AssayError('INTERNAL', `No package.json in ${from} or above it: the package is incomplete.`);
    }
  }
}

/** Absolute path of a shipped model's ONNX file. */
export function modelFile(name: string): string {
  return path.join(packageRoot(path.dirname(fileURLToPath(import.meta.url))), 'models', `${name}.onnx`);
}
