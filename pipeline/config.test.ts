import { describe, expect, it } from 'vitest';
import { parseSettings, settingsFromEnvironment } from './config.js';

describe('settings', () => {
  it('have defaults for everything but the data directory', () => {
    expect(parseSettings({ dataDirectory: '/data' })).toMatchObject({
      openLanes: ['sampled'],
      batchSize: 64,
      confirmations: 1,
    });
    expect(() => parseSettings({})).toThrow(/dataDirectory/);
  });

  it('come from the environment, as text, numbers and lists', () => {
    const settings = settingsFromEnvironment({
      ASSAY_DATA_DIR: '/data',
      DATABASE_URL: 'postgres://h/d',
      REDIS_URL: '',
      ASSAY_BATCH_SIZE: '7',
      ASSAY_OPEN_LANES: 'sampled',
    });
    expect(settings).toMatchObject({
      dataDirectory: '/data',
      databaseUrl: 'postgres://h/d',
      batchSize: 7,
      openLanes: ['sampled'],
    });
    expect(settings.redisUrl).toBeUndefined();
  });

  it.each([
    ['ASSAY_BATCH_SIZE', '0'],
    ['ASSAY_BATCH_SIZE', '257'],
    ['ASSAY_BATCH_SIZE', 'many'],
    ['ASSAY_CONFIRMATIONS', '1.5'],
    ['ASSAY_PROVE_TIMEOUT_MS', '0'],
    ['ASSAY_OPEN_LANES', 'express'],
  ])('refuse %s=%s, naming the setting', (variable, value) => {
    expect(() => settingsFromEnvironment({ ASSAY_DATA_DIR: '/data', [variable]: value })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', kind: 'usage' }),
    );
  });

  it('open the lane of proofs beside the sampled one', () => {
    const settings = settingsFromEnvironment({
      ASSAY_DATA_DIR: '/data',
      ASSAY_OPEN_LANES: 'sampled, zk',
      ASSAY_PROVE_TIMEOUT_MS: '5000',
    });
    expect(settings).toMatchObject({ openLanes: ['sampled', 'zk'], proveTimeoutMs: 5_000 });
  });

  it.each(['express', 'sampled, express'])('refuse to open a lane that there is not: %s', (lanes) => {
    expect(() => settingsFromEnvironment({ ASSAY_DATA_DIR: '/data', ASSAY_OPEN_LANES: lanes })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('the lanes are `sampled`, `optimistic` and `zk`'),
      }),
    );
  });

  it('refuse a setting that does not exist', () => {
    expect(() => parseSettings({ dataDirectory: '/data', batchsize: 3 })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  });
});
