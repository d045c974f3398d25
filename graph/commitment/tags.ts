/** First byte of every preimage under a commitment: its role. Byte-tagged hashes of receipts and batches start below 0x10. */
export const TAG = {
  chunk: 0x10,
  tensorNode: 0x11,
  tensorRoot: 0x12,
  slot: 0x20,
  traceNode: 0x21,
  traceRoot: 0x22,
  port: 0x30,
  portNode: 0x31,
  portRoot: 0x32,
  descriptor: 0x40,
  graphNode: 0x41,
  graphRoot: 0x42,
  constant: 0x50,
  weightsNode: 0x51,
  weightsRoot: 0x52,
} as const;
