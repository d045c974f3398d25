import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssayError } from '../common/errors.js';
import { LANES, type Lane } from '../receipts/types.js';
import type { ProofForecast } from './ports.js';
import { routeJob, type DisputeProspect, type ProofProspect, type RoutingQuestion } from './routing.js';

const ALL: Lane[] = ['zk', 'optimistic', 'sampled'];
const small: RoutingQuestion = {
  macs: 281_640,
  parameters: 44_426,
  arithmetic: 'exact',
  items: 1,
  valueAtRisk: 1_000n,
  finalWithinMs: 60_000,
  requested: 'auto',
  open: ['sampled'],
  proof: {
    kind: 'predicted',
    forecast: { rounds: 38, proofBytes: 5_643, memoryBytes: 50_724_864, srsPoints: 16_384, proveMs: 4_058 },
    limits: { memoryBytes: 1e9, srsPoints: 16_384, proveMs: 300_000 },
  },
  dispute: { kind: 'possible', windowMs: 3_600_000 },
};
const withForecast = (change: Partial<ProofForecast>): RoutingQuestion => {
  const { forecast, limits } = small.proof as Extract<ProofProspect, { kind: 'predicted' }>;
  const proof: ProofProspect = { kind: 'predicted', forecast: { ...forecast, ...change }, limits };
  return { ...small, open: ALL, requested: 'zk', proof };
};
const closed = (question: RoutingQuestion): AssayError => {
  try {
    routeJob(question);
  } catch (error) {
    if (error instanceof AssayError) return error;
  }
  throw new Error('expected a refusal');
};

describe('routing policy', () => {
  it('sends auto to sampled, with the reasons written out', () => {
    const decision = routeJob(small);
    expect(decision.lane).toBe('sampled');
    expect(decision.reasons).toEqual([
      'model: 44426 parameters, 281640 multiply-accumulates per item, 1 items, exact arithmetic',
      'value at risk 1000 is below 1000000000000000000: the cheapest lane first',
      'sampled: open and suited',
    ]);
  });

  it('says why a better lane was passed over', () => {
    const { lane, reasons } = routeJob({ ...small, valueAtRisk: 10n ** 18n });
    expect(lane).toBe('sampled');
    expect(reasons).toContain('zk: not open at this deployment (open: sampled)');
    expect(reasons).toContain('optimistic: not open at this deployment (open: sampled)');
  });

  it('refuses a lane that is not open, with the reason', () => {
    for (const requested of ['zk', 'optimistic'] as const) {
      const error = closed({ ...small, requested });
      expect(error).toMatchObject({ code: 'LANE_CLOSED', kind: 'usage' });
      expect(error.message).toContain(`${requested}: not open at this deployment`);
    }
  });

  it('takes the proof for high value where it is open and fits', () => {
    expect(routeJob({ ...small, valueAtRisk: 10n ** 18n, open: ALL }).lane).toBe('zk');
    expect(
      routeJob({ ...small, valueAtRisk: 10n ** 18n, parameters: 5e6, finalWithinMs: 2 * 3.6e6, open: ALL }).lane,
    ).toBe('optimistic');
    expect(routeJob({ ...small, valueAtRisk: 10n ** 18n, parameters: 5e6, open: ALL }).lane).toBe('sampled');
    expect(closed({ ...small, requested: 'zk', arithmetic: 'float', open: ALL }).message).toContain('compile it first');
  });

  it('refuses a proof that cannot be made, naming what it lacks', () => {
    const lacks: [Partial<ProofForecast>, string][] = [
      [{ memoryBytes: 1e9 + 1 }, 'a memory of 1000000001 bytes, at most 1000000000'],
      [{ srsPoints: 32_768 }, 'a reference string of 32768 points, at most 16384'],
      [{ proveMs: 300_001 }, 'about 300001 ms, at most 300000'],
      // The requester waits a minute.
      [{ proveMs: 60_001 }, 'about 60001 ms, at most 60000'],
    ];
    for (const [change, found] of lacks) expect(closed(withForecast(change)).message).toContain(found);
    const reason = 'the bundle names no key';
    const impossible: RoutingQuestion = { ...withForecast({}), proof: { kind: 'impossible', reason } };
    expect(closed(impossible).message).toContain(`zk: ${reason}`);
    expect(closed({ ...impossible, proof: null }).message).toContain('zk: no prover was asked');
    expect(closed({ ...withForecast({}), parameters: 1_000_001 }).message).toContain('1000001 parameters');
    const other = routeJob({ ...impossible, requested: 'auto', valueAtRisk: 10n ** 18n });
    expect(other).toMatchObject({ lane: 'sampled', reasons: expect.arrayContaining([`zk: ${reason}`]) });
  });

  it('takes the proof that fits exactly, and says what it will be', () => {
    const limit = withForecast({ memoryBytes: 1e9, srsPoints: 16_384, proveMs: 60_000 });
    expect(routeJob(limit)).toMatchObject({ lane: 'zk' });
    expect(routeJob(withForecast({})).reasons).toContain(
      'zk: requested, open and suited: a proof of 5643 bytes and 38 rounds, in 50724864 bytes of memory and about 4058 ms',
    );
  });

  it('refuses a dispute that cannot be played, and one that ends too late for who did not ask for it', () => {
    const optimistic: RoutingQuestion = { ...small, open: ALL, requested: 'optimistic' };
    expect(routeJob(optimistic).reasons).toContain('optimistic: requested, open and suited');
    const impossible = closed({ ...optimistic, dispute: { kind: 'impossible', reason: 'layer `fc` is too long' } });
    expect(impossible.message).toContain('optimistic: layer `fc` is too long');
    expect(closed({ ...optimistic, dispute: null }).message).toContain('optimistic: no dispute game was asked');
    const auto: RoutingQuestion = { ...optimistic, requested: 'auto', valueAtRisk: 10n ** 18n, parameters: 5e6 };
    expect(routeJob({ ...auto, finalWithinMs: 3_600_000 }).lane).toBe('optimistic');
    const late = routeJob({ ...auto, finalWithinMs: 3_599_999 });
    expect(late.lane).toBe('sampled');
    expect(late.reasons.join()).toContain('final after a challenge window of 3600000 ms, wanted within 3599999 ms');
  });

  it('never answers with a lane that is closed, and always gives a reason', () => {
    fc.assert(
      fc.property(
        fc.record({
          macs: fc.nat(),
          parameters: fc.nat({ max: 10_000_000 }),
          arithmetic: fc.constantFrom('exact' as const, 'float' as const),
          items: fc.integer({ min: 1, max: 256 }),
          valueAtRisk: fc.bigInt({ min: 0n, max: 10n ** 20n }),
          finalWithinMs: fc.nat({ max: 10_000_000 }),
          requested: fc.constantFrom('auto' as const, ...ALL),
          open: fc.subarray(ALL),
          proof: fc.constantFrom<ProofProspect | null>(null, { kind: 'impossible', reason: 'no' }, small.proof),
          dispute: fc.constantFrom<DisputeProspect | null>(null, { kind: 'impossible', reason: 'no' }, small.dispute),
        }),
        (question) => {
          try {
            const { lane, reasons } = routeJob(question);
            expect(question.open).toContain(lane);
            expect(Object.keys(LANES)).toContain(lane);
            if (question.requested !== 'auto') expect(lane).toBe(question.requested);
            if (lane === 'zk') expect(question.proof?.kind).toBe('predicted');
            if (lane === 'optimistic') expect(question.dispute?.kind).toBe('possible');
            if (question.arithmetic === 'float') expect(lane).toBe('sampled');
            expect(reasons.length).toBeGreaterThan(1);
          } catch (error) {
            if (!(error instanceof AssayError)) throw error;
            expect(error.code).toBe('LANE_CLOSED');
            expect((error.meta['reasons'] as string[]).length).toBeGreaterThan(1);
          }
        },
      ),
    );
  });
});
