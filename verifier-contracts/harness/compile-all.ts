/**
 * Compiles every contract before the tests begin (vitest's `globalSetup`): with an empty cache that takes minutes, which
 * would count against the time of whichever test asks first.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileContracts } from '../build.js';

export default async function compileAll(): Promise<void> {
  await compileContracts({
    folders: foldersWithSolidity(['src', 'harness']),
    onCompile: () => console.log('compiling the contracts'),
  });
}

/** These folders and all below them that hold .sol files. */
function foldersWithSolidity(folders: readonly string[]): string[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  return folders.flatMap((folder) => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true });
    const inner = entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${folder}/${name}`);
    const holds = entries.some(({ name }) => name.endsWith('.sol'));
    return [...(holds ? [folder] : []), ...foldersWithSolidity(inner)];
  });
}
