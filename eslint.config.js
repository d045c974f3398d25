import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** What each room may import: the table of ARCHITECTURE.md. A room may always import itself. */
const MAY_IMPORT = {
  common: [],
  graph: ['common'],
  receipts: ['common'],
  'verifier-contracts': ['common', 'receipts'],
  executor: ['common', 'graph', 'receipts'],
  prover: ['common', 'graph'],
  circuits: ['common', 'graph', 'prover'],
  'fraud-proofs': ['common', 'graph', 'receipts', 'verifier-contracts'],
  sampler: ['common', 'graph', 'receipts'],
  models: ['common', 'graph'],
  pipeline: [
    'common',
    'graph',
    'receipts',
    'verifier-contracts',
    'executor',
    'prover',
    'circuits',
    'fraud-proofs',
    'sampler',
  ],
  service: ['common', 'pipeline'],
};
const ROOMS = [...Object.keys(MAY_IMPORT), 'cli', 'benchmarks', 'test'];

const zones = Object.entries(MAY_IMPORT).map(([room, allowed]) => ({
  target: `./${room}/**/!(*.test).ts`,
  from: ROOMS.filter((other) => other !== room && !allowed.includes(other)).map((other) => `./${other}/**`),
  message: `${room}/ may import only: ${allowed.join(', ') || 'nothing of ours'} (ARCHITECTURE.md).`,
}));
zones.push({
  target: [
    ...['verifier', 'plan', 'program', 'transcript', 'curve', 'field', 'files'].map(
      (folder) => `./prover/${folder}/**/!(*.test).ts`,
    ),
    ...['types', 'verify', 'claim', 'proof-reader', 'mercury', 'hyperkzg'].map((file) => `./prover/opening/${file}.ts`),
    ...['srs', 'development-srs'].map((file) => `./prover/srs/${file}.ts`),
  ],
  from: ['prover', 'reference', 'wasm', 'audit'].map((folder) => `./prover/${folder}/**`),
  message: 'The verifier never imports the prover.',
});

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', '.cache/', 'verifier-contracts/bindings/', 'prover/wasm/assembly/'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    plugins: { 'import-x': importX },
    languageOptions: { parserOptions: { projectService: true } },
    settings: { 'import-x/resolver-next': [tsSourceResolver()] },
    rules: {
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-cycle': ['error', { maxDepth: 4 }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      eqeqeq: 'error',
    },
  },
);

/** Maps the `.js` ending that NodeNext wants to the `.ts` source beside it. */
function tsSourceResolver() {
  return {
    interfaceVersion: 3,
    name: 'ts-source',
    resolve(specifier, file) {
      if (!specifier.startsWith('.')) return { found: true, path: null };
      const path = new URL(specifier.replace(/\.js$/, '.ts'), `file://${file}`).pathname;
      return { found: true, path };
    },
  };
}
