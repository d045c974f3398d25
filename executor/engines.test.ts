import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { availableEngines, ENGINE_NAMES, openEngine } from './engines.js';
import { chooseEngine } from './choose-engine.js';

describe('engines of this machine', () => {
  it('are all accounted for, in order of preference; what is missing has a reason and a mend', async () => {
    const { engines, missing } = await availableEngines();
    const names = engines.map(({ name }) => name);
    const all = [...names, ...missing.map(({ name }) => name)];
    expect(all.sort()).toEqual([...ENGINE_NAMES].sort());
    expect(names).toEqual(ENGINE_NAMES.filter((name) => names.includes(name)));
    // These need nothing but npm packages.
    expect(names).toEqual(expect.arrayContaining(['onnxruntime-cpu', 'reference']));
    expect(names.some((name) => name.startsWith('tfjs'))).toBe(true);
    for (const { reason, mend } of missing) {
      expect(reason.length).toBeGreaterThan(10);
      expect(mend.length).toBeGreaterThan(10);
    }
    for (const engine of engines) {
      expect(engine.version).toMatch(/\w/);
      await engine.close();
    }
  });

  it('are looked for without a word on the console', () => {
    const script = `const { availableEngines } = await import(process.argv[1]); await availableEngines();`;
    const url = new URL('./engines.ts', import.meta.url).href;
    const args = ['--import', 'tsx', '--input-type=module', '-e', script, url];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('refuse by name with the reason and the mend', async () => {
    const { engines, missing } = await availableEngines();
    await Promise.all(engines.map((engine) => engine.close()));
    for (const { name, mend } of missing.filter((one) => one.name !== 'tfjs-wasm')) {
      await expect(openEngine(name)).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE', mend });
    }
    await expect(openEngine('onnxruntime-web')).rejects.toMatchObject({ code: 'ENGINE_UNAVAILABLE' });
  });

  it('are chosen by the self-test where none is named', async () => {
    const { engine, report } = await chooseEngine(null);
    expect(report.deviceClass).not.toBe('float-only');
    expect(report.engine).toBe(engine.name);
    expect(engine.name).not.toBe('reference');
    await engine.close();
  });
});
