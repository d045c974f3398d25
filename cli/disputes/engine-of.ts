/** A re-execution on one of the executor's engines, as watchers ask for it: every slot, whatever a trace commits. */
import { chooseEngine, type ExactSession } from '../../executor/index.js';
import type { ProductionEngineName } from '../../executor/engines.js';
import { makeBundle, type Bundle } from '../../graph/index.js';
import type { Engine } from '../../fraud-proofs/watch/sources.js';

export interface OpenedEngine {
  readonly name: string;
  /** 'exact', 'exact-im2col' or 'float-only', by its self-test. */
  readonly deviceClass: string;
  readonly run: Engine;
  close(): Promise<void>;
}

/** @param name null: the first that works here. @throws AssayError ENGINE_UNAVAILABLE */
export async function openEngineOf(name: ProductionEngineName | null): Promise<OpenedEngine> {
  const { engine, report } = await chooseEngine(name, { threads: 1 });
  const sessions = new Map<string, Promise<ExactSession>>();
  const options = report.deviceClass === 'exact-im2col' ? { convolution: 'im2col' as const } : {};
  const sessionOf = (bundle: Bundle): Promise<ExactSession> => {
    let session = sessions.get(bundle.digest);
    if (session === undefined) {
      session = engine.loadExact(everySlot(bundle), options);
      sessions.set(bundle.digest, session);
    }
    return session;
  };
  return {
    name: engine.name,
    deviceClass: report.deviceClass,
    run: async (bundle, inputs, items) => (await sessionOf(bundle)).run(inputs, items),
    close: async () => {
      for (const session of sessions.values()) await (await session).close();
      await engine.close();
    },
  };
}

/** The same model as one that commits every slot: what an engine gives is what a trace commits. */
export const everySlot = ({ graph, inputs, outputs, sourceHash, report }: Bundle): Bundle =>
  makeBundle({ graph, inputs, outputs, sourceHash, report });
