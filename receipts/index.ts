export * from './batch.js';
export {
  ACCEPTANCE_TYPES,
  CANCELLATION_TYPES,
  domainSeparator,
  hashAcceptance,
  hashCancellation,
  hashNodeRegistration,
  hashOpening,
  hashOrder,
  hashReceipt,
  NODE_REGISTRATION_TYPES,
  OPENING_TYPES,
  openingValue,
  ORDER_TYPES,
  orderValue,
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
