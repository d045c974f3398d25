/** Compiles one source that another system wrote. */
import { createRequire } from 'node:module';
import { AssayError } from '../common/errors.js';

interface Output {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Record<
    string,
    Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>
  >;
}

/** @returns creation code, 0x-hex. @throws AssayError CONTRACT_BUILD_FAILED with what the compiler says. */
export function compileSolidity(file: string, content: string, contract: string): string {
  const compiler = createRequire(import.meta.url)('solc') as { compile(input: string): string };
  const output = JSON.parse(
    compiler.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { [file]: { content } },
        settings: {
          optimizer: { enabled: true, runs: 1 },
          outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
        },
      }),
    ),
  ) as Output;
  const fault = output.errors?.find(({ severity }) => severity === 'error');
  const code = output.contracts?.[file]?.[contract]?.evm.bytecode.object;
  if (fault || !code)
    throw new AssayError('CONTRACT_BUILD_FAILED', `${file}: ${fault?.formattedMessage ?? `holds no ${contract}`}`);
  return `0x${code}`;
}
