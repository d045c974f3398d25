import { AssayError } from '../common/errors.js';
import type { Engine, EngineName } from './engine.js';
import { ENGINE_NAMES, openEngine } from './engines.js';
import type { EngineOptions, MissingEngine } from './engines.js';
import { selfTest } from './self-test.js';
import type { SelfTestReport } from './self-test.js';

export interface ChosenEngine {
  readonly engine: Engine;
  readonly report: SelfTestReport;
  /** Engines of higher preference that were passed over, with the reason. */
  readonly missing: readonly MissingEngine[];
}

/**
 * The named engine, tested; or, for null, the first in order of preference that works here and is exact.
 * @throws AssayError ENGINE_UNAVAILABLE where the named engine cannot run here.
 */
export async function chooseEngine(name: EngineName | null, options: EngineOptions = {}): Promise<ChosenEngine> {
  if (name !== null) {
    const engine = await openEngine(name, options);
    return { engine, report: await selfTest(engine), missing: [] };
  }
  const missing: MissingEngine[] = [];
  for (const candidate of ENGINE_NAMES) {
    let engine: Engine;
    try {
      engine = await openEngine(candidate, options);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'ENGINE_UNAVAILABLE') throw error;
      missing.push({ name: candidate, reason: error.message, mend: error.mend });
      continue;
    }
    const report = await selfTest(engine);
    if (report.deviceClass !== 'float-only') return { engine, report, missing };
    await engine.close();
    missing.push({
      name: candidate,
      reason: 'it failed the self-test: some integers came out wrong',
      mend: 'Use it for float models only, by its name.',
    });
  }
  throw new AssayError('INTERNAL', 'the reference evaluator failed its own self-test');
}
