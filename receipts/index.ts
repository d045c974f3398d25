export * from './batch.js';
export {
  domainSeparator,
  hashOrder,
  hashReceipt,
  ORDER_TYPES,
  RECEIPT_TYPES,
  receiptStructHash,
  receiptValue,
  typedDomain,
} from './eip712.js';
export * from './merkle.js';
export * from './receipt-file.js';
export * from './signature.js';
export * from './terms.js';
export * from './types.js';
export * from './verify-receipt.js';
