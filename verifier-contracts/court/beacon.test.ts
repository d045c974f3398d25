/** Beacon.sol and its mirror in TypeScript: rounds of drand's evmnet, the development key, and what is no signature. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Contract, ContractFactory, Wallet, type InterfaceAbi, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hex } from '../../receipts/types.js';
import { anvilKey, startAnvil, type Anvil } from '../anvil.js';
import {
  BeaconClient,
  DEVELOPMENT_BEACON_KEY,
  EVMNET,
  beaconInterface,
  fetchRound,
  roundAfter,
  roundRandomness,
  signDevelopmentRound,
  verifyRound,
  type BeaconNetwork,
  type RoundSignature,
} from '../beacon-client.js';
import { compileContracts } from '../build.js';
import { connectChain } from '../connect-chain.js';
import { reverts } from '../harness/expectations.js';

/** Published by evmnet: rounds 1, 513, 10,000,000 and 19,732,510. */
const ROUNDS: readonly (readonly [number, RoundSignature])[] = [
  [
    1,
    '0x11f812d738a36b2210dc88c2d635ad8039588205f42445d6de09e6530165c3462a23aca348c84badcf8df5321ac24577b7963d5b0d780bc4626baedb45cde373',
  ],
  [
    513,
    '0x06ded8c05af23042a0caf9b404c6140f9ec64adbaf82f04d5c37153e8412ed580f827c7d5ac7d02ca0bbd989d07594729bdcde7d6dc1001191c59dc9033d31b2',
  ],
  [
    10_000_000,
    '0x2c7b65b5acfe55256910ca71cf0a0fa71ac34c2a1167f86a22930a03e70ebec00f7a530796e7ee38600b06da0390634a9b154e3eebc3b323dde2111e1c8ebdf3',
  ],
  [
    19_732_510,
    '0x180a58cd3c3299b4eac3c7730cba7d00e084edba93da88d4513f4bdabb209e92183a6779d3ce0f92744930f77ef5407fab5f0dd80a395c7f1da23856f23ecbd2',
  ],
];
const DEVELOPMENT: BeaconNetwork = { publicKey: DEVELOPMENT_BEACON_KEY, genesis: 1_000, period: 3 };
const ZERO = '0'.repeat(64);
const MODULUS = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const word = (value: bigint): string => value.toString(16).padStart(64, '0');

let anvil: Anvil;
let provider: JsonRpcProvider;
let signer: Wallet;
beforeAll(async () => {
  anvil = await startAnvil();
  provider = await connectChain(anvil.url);
  signer = new Wallet(anvilKey(0), provider);
});
afterAll(async () => {
  provider.destroy();
  await anvil.stop();
});

const constructorArgs = ({ publicKey, genesis, period }: BeaconNetwork): unknown[] => [
  publicKey
    .slice(2)
    .match(/.{64}/g)!
    .map((hex) => BigInt(`0x${hex}`)),
  genesis,
  period,
];

async function factory(): Promise<ContractFactory> {
  const { abi, bytecode } = (await compileContracts({ folders: ['src/court'] }))['Beacon']!;
  return new ContractFactory(abi as InterfaceAbi, bytecode, signer);
}

async function deploy(network: BeaconNetwork): Promise<BeaconClient> {
  const contract = await (await factory()).deploy(...constructorArgs(network));
  await contract.waitForDeployment();
  const domain = { chainId: 31337n, verifyingContract: signer.address as Hex };
  return BeaconClient.at({ provider, domain, signer, fromBlock: 0 }, (await contract.getAddress()) as Hex);
}

/** What the constructor says to these arguments. */
async function refusal(network: BeaconNetwork, on: JsonRpcProvider = provider): Promise<string | null> {
  const transaction = await (await factory()).getDeployTransaction(...constructorArgs(network));
  try {
    await on.call(transaction);
    return null;
  } catch (error) {
    const { data } = error as { data: string };
    return beaconInterface.parseError(data)!.name;
  }
}

describe('rounds of evmnet', () => {
  it('are signatures here and on chain, each for its own round alone', async () => {
    const beacon = await deploy(EVMNET);
    expect(beacon.network).toEqual(EVMNET);
    for (const [round, signature] of ROUNDS) {
      expect(verifyRound(EVMNET, round, signature)).toBe(true);
      expect(verifyRound(EVMNET, round + 1, signature)).toBe(false);
      await expect(beacon.post(round + 1, signature)).rejects.toEqual(reverts('SignatureInvalid', round + 1));
      expect(await beacon.randomnessOf(round)).toBeNull();
      await beacon.post(round, signature);
      expect(await beacon.randomnessOf(round)).toBe(roundRandomness(signature));
      await expect(beacon.post(round, signature)).rejects.toEqual(reverts('RoundKnown', round));
    }
  });

  it('refuses every other point and every other encoding of the same point', async () => {
    const beacon = await deploy(EVMNET);
    const [round, signature] = ROUNDS[0]!;
    const x = BigInt(signature.slice(0, 66));
    const y = BigInt(`0x${signature.slice(66)}`);
    const wrong: readonly Hex[] = [
      `0x${ZERO}${ZERO}`,
      `0x${word(x)}${word(MODULUS - y)}`,
      `0x${word(x + MODULUS)}${word(y)}`,
      `0x${word(x)}${word(y + MODULUS)}`,
      `0x${word(x)}${word(y + 1n)}`,
      `0x${word(1n)}${word(2n)}`,
      signDevelopmentRound(round),
    ];
    for (const other of wrong) {
      expect(verifyRound(EVMNET, round, other)).toBe(false);
      await expect(beacon.post(round, other)).rejects.toEqual(reverts('SignatureInvalid', round));
    }
    await expect(beacon.post(0, signature)).rejects.toEqual(reverts('SignatureInvalid', 0));
  });
});

describe('the development key', () => {
  it('signs any round: 20 of them, hashed here and on chain alike', async () => {
    const beacon = await deploy(DEVELOPMENT);
    const seed = Date.now() % 1_000_000;
    for (let i = 0; i < 20; i++) {
      const round = BigInt(seed) * 7919n ** BigInt(i % 4) + BigInt(i) + 1n;
      const signature = signDevelopmentRound(round);
      await beacon.post(round, signature);
      expect(await beacon.randomnessOf(round), `seed ${seed}, round ${round}`).toBe(roundRandomness(signature));
    }
    expect(verifyRound(DEVELOPMENT, seed, signDevelopmentRound(seed))).toBe(true);
  });

  it('is refused away from chain 31337', async () => {
    const other = await startAnvil({ chainId: 1n });
    try {
      const real = await connectChain(other.url);
      expect(await refusal(DEVELOPMENT, real)).toBe('DevelopmentKey');
      expect(await refusal(EVMNET, real)).toBeNull();
      real.destroy();
    } finally {
      await other.stop();
    }
  });
});

describe('deployment', () => {
  it('refuses what is no key and no schedule', async () => {
    const key = EVMNET.publicKey;
    const swapped: Hex = `0x${key.slice(66, 130)}${key.slice(2, 66)}${key.slice(130)}`;
    expect(await refusal(EVMNET)).toBeNull();
    expect(await refusal({ ...EVMNET, publicKey: `0x${ZERO.repeat(4)}` })).toBe('KeyInvalid');
    expect(await refusal({ ...EVMNET, publicKey: swapped })).toBe('KeyInvalid');
    expect(await refusal({ ...EVMNET, genesis: 0 })).toBe('ScheduleInvalid');
    expect(await refusal({ ...EVMNET, period: 0 })).toBe('ScheduleInvalid');
  });

  it('names the first round later than a time, as the client does', async () => {
    const { address } = await deploy(DEVELOPMENT);
    const contract = new Contract(address, beaconInterface, provider);
    for (const time of [0, 999, 1000, 1001, 1002, 1003, 1_000_000]) {
      const round = Number(await contract.getFunction('roundAfter')(time));
      expect(round).toBe(roundAfter(DEVELOPMENT, time));
      const at = (r: number): number => DEVELOPMENT.genesis + (r - 1) * DEVELOPMENT.period;
      expect(at(round)).toBeGreaterThan(time);
      if (round > 1) expect(at(round - 1)).toBeLessThanOrEqual(time);
    }
  });
});

describe('a relay', () => {
  let relay: Server;
  let url: string;
  let answer: (path: string) => { status: number; body: string };
  beforeAll(async () => {
    relay = createServer((request, response) => {
      const { status, body } = answer(request.url!);
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}/chain/`;
  });
  afterAll(() => new Promise((resolve) => relay.close(resolve)));

  it('is believed only with the signature of the round', async () => {
    const [round, signature] = ROUNDS[0]!;
    answer = (path) => {
      expect(path).toBe(`/chain/public/${round}`);
      return { status: 200, body: JSON.stringify({ round, signature: signature.slice(2) }) };
    };
    expect(await fetchRound(url, EVMNET, round)).toBe(signature);
    answer = () => ({ status: 200, body: JSON.stringify({ round, signature: ROUNDS[1]![1].slice(2) }) });
    await expect(fetchRound(url, EVMNET, round)).rejects.toMatchObject({ code: 'BEACON_INVALID' });
    answer = () => ({ status: 200, body: JSON.stringify({ round: 2, signature: signature.slice(2) }) });
    await expect(fetchRound(url, EVMNET, round)).rejects.toMatchObject({ code: 'BEACON_INVALID' });
    answer = () => ({ status: 404, body: '{}' });
    expect(await fetchRound(url, EVMNET, round)).toBeNull();
    answer = () => ({ status: 500, body: '{}' });
    await expect(fetchRound(url, EVMNET, round)).rejects.toMatchObject({ code: 'BEACON_UNAVAILABLE' });
  });
});
