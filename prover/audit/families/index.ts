/** All families of the audit, by name. */
import type { TamperFamily } from '../attack.js';
import { adaptiveFamilies } from './adaptive.js';
import { lookupFamilies } from './lookups.js';
import { paddingFamilies } from './padding.js';
import { statementFamilies } from './statements.js';
import { traceFamilies } from './traces.js';
import { wordFamilies } from './words.js';

export const FAMILIES: readonly TamperFamily[] = [
  ...traceFamilies,
  ...lookupFamilies,
  ...adaptiveFamilies,
  ...paddingFamilies,
  ...statementFamilies,
  ...wordFamilies,
];
