/**
 * Beacon.sol, and where its signatures come from: a drand network over HTTP, or the development key.
 *
 *   1. Message of round r: keccak(uint64 r). M = hash to G1 (RFC 9380, BN254G1_XMD:KECCAK-256_SVDW_RO_, drand's tag).
 *   2. Signature S = s M for the secret s; e(S, H) = e(M, P) for the public key P = s H.
 *   3. Randomness: SHA-256 of x | y of S.
 * Source: drand's scheme bls-bn254-unchained-on-g1; RFC 9380 sections 5.2, 5.3.1 and appendix F.1.
 */
import { bn254, bn254_Fr } from '@noble/curves/bn254.js';
import { expand_message_xmd } from '@noble/curves/abstract/hash-to-curve.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { getBytes, Interface, keccak256, sha256, toBeHex, toUtf8Bytes } from 'ethers';
import { AssayError } from '../common/errors.js';
import type { Hex } from '../receipts/types.js';
import { beaconAbi } from './bindings/Beacon.js';
import {
  ContractClient,
  orNull,
  sentTransaction,
  type Call,
  type ChainContext,
  type SentTransaction,
} from './contract-client.js';

export const beaconInterface = new Interface(beaconAbi);

/** What a Beacon is deployed with. */
export interface BeaconNetwork {
  /** 128 bytes x.c1 | x.c0 | y.c1 | y.c0 of G2, as drand's `public_key`. */
  readonly publicKey: Hex;
  /** Time of round 1, in seconds. */
  readonly genesis: number;
  /** Seconds between rounds. */
  readonly period: number;
}

/** drand's network for EVM chains, chain hash 04f1e906..6ec8c3. */
export const EVMNET: BeaconNetwork = {
  publicKey:
    '0x07e1d1d335df83fa98462005690372c643340060d205306a9aa8106b6bd0b3820557ec32c2ad488e4d4f6008f89a346f18492092ccc0d594610de2732c8b808f0095685ae3a85ba243747b1b2f426049010f6b73a0cf1d389351d5aaaa1047f6297d3a4f9749b33eb2d904c9d9ebf17224150ddd7abd7567a9bec6c74480ee0b',
  genesis: 1_727_521_075,
  period: 3,
};

/** Everybody knows it: for chain 31337 only, which Beacon.sol and `deploySettlement` enforce. */
const DEVELOPMENT_SECRET = BigInt(keccak256(toUtf8Bytes('assay/beacon/development'))) % bn254_Fr.ORDER;
/** Public key of the development secret. */
export const DEVELOPMENT_BEACON_KEY: Hex =
  '0x1b46b3fd91e892f63c1beeb9fcd2aa25dc82b32cf0c122484ab9adaffb73d593286c70e9340ad7a73139239d108fce49f2fe1dac5a7c46ba886ea7651843abb0295329fe67f51cfe2cbfe54f6457372867d950f1161334c1d5a0e9550fca88e4037b6400fab0a34db2f6a621f7e4e3c77532633820179b0708e7d6036ed4ed56';

/** A round's signature: x | y, 64 bytes. */
export type RoundSignature = Hex;

const TAG = 'BLS_SIG_BN254G1_XMD:KECCAK-256_SVDW_RO_NUL_';
const { Fp } = bn254.fields;
type Point = typeof bn254.G1.Point.BASE;

/** Constants of the map for Z = 1. */
const C1 = 4n;
const C2 = Fp.create(-Fp.inv(2n));
const C3 = evenRoot(-12n);
const C4 = Fp.create(-16n * Fp.inv(3n));

function evenRoot(square: bigint): bigint {
  const root = Fp.sqrt(Fp.create(square));
  return root & 1n ? Fp.neg(root) : root;
}

const rightSide = (x: bigint): bigint => Fp.add(Fp.mul(Fp.sqr(x), x), 3n);

/** Shallue and van de Woestijne's map, appendix F.1. */
function mapToG1(u: bigint): Point {
  const t = Fp.mul(Fp.sqr(u), C1);
  const [plus, minus] = [Fp.add(1n, t), Fp.sub(1n, t)];
  const product = Fp.mul(plus, minus);
  const inverse = product === 0n ? 0n : Fp.inv(product);
  const offset = Fp.mul(Fp.mul(Fp.mul(u, minus), inverse), C3);
  const third = (): bigint => Fp.add(Fp.mul(Fp.sqr(Fp.mul(Fp.sqr(plus), inverse)), C4), 1n);
  let x = Fp.sub(C2, offset);
  if (!isSquare(rightSide(x))) x = Fp.add(C2, offset);
  if (!isSquare(rightSide(x))) x = third();
  const y = Fp.sqrt(rightSide(x));
  return bn254.G1.Point.fromAffine({ x, y: (y & 1n) === (u & 1n) ? y : Fp.neg(y) });
}

/** By Euler's criterion. */
const isSquare = (value: bigint): boolean => Fp.pow(value, (Fp.ORDER - 1n) / 2n) !== Fp.neg(1n);

/** Step 1. @param round 1 to 2^64 - 1 */
export function roundPoint(round: number | bigint): Point {
  const message = getBytes(keccak256(toBeHex(round, 8)));
  const bytes = expand_message_xmd(message, toUtf8Bytes(TAG), 96, keccak_256);
  const field = (at: number): bigint =>
    BigInt(`0x${Buffer.from(bytes.subarray(at, at + 48)).toString('hex')}`) % Fp.ORDER;
  return mapToG1(field(0)).add(mapToG1(field(48)));
}

/** Step 2 with the development secret. */
export function signDevelopmentRound(round: number | bigint): RoundSignature {
  const { x, y } = roundPoint(round).multiply(DEVELOPMENT_SECRET).toAffine();
  return `0x${toBeHex(x, 32).slice(2)}${toBeHex(y, 32).slice(2)}`;
}

/** Step 3. */
export const roundRandomness = (signature: RoundSignature): Hex => sha256(signature) as Hex;

/** Is this the signature of the round? Wrong points are none. */
export function verifyRound(
  network: Pick<BeaconNetwork, 'publicKey'>,
  round: number | bigint,
  signature: RoundSignature,
): boolean {
  if (!/^0x[0-9a-f]{128}$/.test(signature)) return false;
  const words = (hex: Hex): bigint[] =>
    hex
      .slice(2)
      .match(/.{64}/g)!
      .map((word) => BigInt(`0x${word}`));
  const [x, y] = words(signature) as [bigint, bigint];
  const [x1, x0, y1, y0] = words(network.publicKey) as [bigint, bigint, bigint, bigint];
  try {
    const point = bn254.G1.Point.fromAffine({ x, y });
    point.assertValidity();
    const key = bn254.G2.Point.fromAffine({ x: { c0: x0, c1: x1 }, y: { c0: y0, c1: y1 } });
    const product = bn254.pairingBatch([
      { g1: point, g2: bn254.G2.Point.BASE.negate() },
      { g1: roundPoint(round), g2: key },
    ]);
    return bn254.fields.Fp12.eql(product, bn254.fields.Fp12.ONE);
  } catch {
    return false;
  }
}

/** First round later than `time`, in seconds. */
export function roundAfter({ genesis, period }: BeaconNetwork, time: number): number {
  return time < genesis ? 1 : Math.floor((time - genesis) / period) + 2;
}

const FETCH_TIMEOUT_MS = 10_000;

/**
 * Asks a drand relay for a round and verifies what it says: a relay can be silent, but it cannot lie.
 * @param url of the chain, as `https://RELAY/CHAIN_HASH`
 * @returns null where the relay does not have the round yet
 * @throws AssayError BEACON_UNAVAILABLE, BEACON_INVALID
 */
export async function fetchRound(url: string, network: BeaconNetwork, round: number): Promise<RoundSignature | null> {
  const address = `${url.replace(/\/+$/, '')}/public/${round}`;
  let body: { round?: unknown; signature?: unknown };
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    if (response.status === 404 || response.status === 425) return null;
    if (!response.ok) throw new Error(`status ${response.status}`);
    body = (await response.json()) as typeof body;
  } catch (error) {
    throw new AssayError('BEACON_UNAVAILABLE', `beacon: no answer from ${address}: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const signature = `0x${String(body.signature).toLowerCase()}` as Hex;
  if (body.round !== round || !verifyRound(network, round, signature)) {
    throw new AssayError('BEACON_INVALID', `beacon: ${address} did not give the signature of round ${round}`);
  }
  return signature;
}

export class BeaconClient extends ContractClient {
  private constructor(
    context: ChainContext,
    address: Hex,
    readonly network: BeaconNetwork,
  ) {
    super(context, address, beaconInterface);
  }

  /** Reads key and schedule. @throws AssayError CHAIN_UNAVAILABLE, CHAIN_MISMATCH, CHAIN_REVERTED */
  static async at(context: ChainContext, address: Hex): Promise<BeaconClient> {
    const asking = new BeaconClient(context, address, { publicKey: '0x', genesis: 0, period: 0 });
    const key = (await asking.view('publicKey', [])) as readonly bigint[];
    return new BeaconClient(context, address, {
      publicKey: `0x${key.map((word) => toBeHex(word, 32).slice(2)).join('')}`,
      genesis: Number(await asking.view('genesis', [])),
      period: Number(await asking.view('period', [])),
    });
  }

  postCall(round: number | bigint, signature: RoundSignature): Call {
    return this.callOf('post', [round, [signature.slice(0, 66), `0x${signature.slice(66)}`]]);
  }

  /** @throws AssayError CHAIN_REVERTED (RoundKnown, SignatureInvalid), CHAIN_UNAVAILABLE */
  async post(round: number | bigint, signature: RoundSignature): Promise<SentTransaction> {
    return sentTransaction(await this.send(this.postCall(round, signature), 'post'));
  }

  /** Null until the round is posted. */
  async randomnessOf(round: number | bigint): Promise<Hex | null> {
    return orNull(await this.view('randomnessOf', [round]));
  }
}
