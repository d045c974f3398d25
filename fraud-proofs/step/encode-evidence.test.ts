import { Interface, ParamType, type InterfaceAbi } from 'ethers';
import { expect, it } from 'vitest';
import { compileContracts } from '../../verifier-contracts/build.js';
import { COMPILE_TIMEOUT_MS } from '../../verifier-contracts/harness/step/step-fixture.js';
import { STEP_EVIDENCE_TYPE } from './encode-evidence.js';

it(
  'the type of the evidence is that of the contract, field by field',
  async () => {
    const artifacts = await compileContracts({ folders: ['src/dispute', 'harness/step'] });
    const { inputs } = new Interface(artifacts['StepHarness']!.abi as InterfaceAbi).getFunction('judgeOpened')!;
    const own = ParamType.from(`${STEP_EVIDENCE_TYPE} evidence`);
    expect(own.format('full')).toBe(inputs[2]!.format('full'));
  },
  COMPILE_TIMEOUT_MS,
);
