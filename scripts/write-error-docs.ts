import { writeFileSync } from 'node:fs';
import { errorDocs } from './error-docs.js';

writeFileSync('docs/errors.md', errorDocs());
