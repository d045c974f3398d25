import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

/** In a process of its own: how much larger it is after a model has been loaded and run than before. */
const SCRIPT = `
  const [engines, digits, size, name, channels, items] = process.argv.slice(1);
  const { openEngine } = await import(engines);
  const { images, smallClassifier } = await import(digits);
  const { predictExactBytes } = await import(size);
  const engine = await openEngine(name);
  const load = async (bundle, count) => {
    const session = await engine.loadExact(bundle);
    await session.run(images(count, 1), count);
    return session;
  };
  // The engine's own start is no part of the session.
  await (await load(smallClassifier(2, 1), 1)).close();
  const bundle = smallClassifier(1, Number(channels));
  gc();
  const before = process.memoryUsage().rss;
  const session = await load(bundle, Number(items));
  gc();
  const grown = process.memoryUsage().rss - before;
  console.log(JSON.stringify({ grown, predicted: predictExactBytes(bundle.graph, Number(items)) }));
  await session.close();
`;

describe.each(['onnxruntime-cpu', 'tfjs-wasm'])('%s', (engine) => {
  it.each([
    ['one item', 4, 1],
    ['many weights', 8192, 1],
    ['many items', 64, 2000],
  ])('holds no more than was predicted: %s', (_, channels, items) => {
    const urls = ['./engines.ts', './testing/digits.ts', './session-size.ts'].map(
      (file) => new URL(file, import.meta.url).href,
    );
    const args = [
      '--expose-gc',
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      SCRIPT,
      ...urls,
      engine,
      `${channels}`,
      `${items}`,
    ];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const { grown, predicted } = JSON.parse(stdout) as { grown: number; predicted: number };
    expect(grown).toBeLessThanOrEqual(predicted);
  });
});
