import { expect, it } from 'vitest';
import { isDevelopmentAccount } from './development-keys.js';

// As anvil prints them.
it.each([
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
])('knows %s', (address) => expect(isDevelopmentAccount(address)).toBe(true));

it('knows no eleventh account, and no stranger', () => {
  expect(isDevelopmentAccount('0xBcd4042DE499D14e55001CcbB24a551F3b954096')).toBe(false);
  expect(isDevelopmentAccount(`0x${'ab'.repeat(20)}`)).toBe(false);
});
