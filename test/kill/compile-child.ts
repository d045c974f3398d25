/**
 * Makes plain JavaScript of child.ts, of the thread that its prover starts, and of all that they import, once, so that each of the many processes that the kill
 * test starts need not do it anew: half a second of a core each.
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** @returns path of the compiled child.js, inside the project so that packages are found; and its folder, to remove. */
export function compileChild(): { readonly file: string; readonly folder: string } {
  const cache = join(ROOT, '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'kill-'));
  const outputOf = (source: string) => join(folder, relative(ROOT, source).replace(/\.ts$/, '.js'));

  const child = join(ROOT, 'test/kill/child.ts');
  const open = [child, join(ROOT, 'pipeline/adapters/prover-worker.ts')];
  const seen = new Set(open);
  for (let source = open.pop(); source !== undefined; source = open.pop()) {
    const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, verbatimModuleSyntax: true },
      fileName: source,
    });
    const output = outputOf(source);
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, outputText);
    for (const { fileName } of ts.preProcessFile(outputText, true, true).importedFiles) {
      if (!fileName.startsWith('.')) continue;
      const next = resolve(dirname(source), fileName.replace(/\.js$/, '.ts'));
      if (!seen.has(next)) open.push(next);
      seen.add(next);
    }
  }
  return { file: outputOf(child), folder };
}
