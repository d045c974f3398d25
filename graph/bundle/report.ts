/** What compilation found out; plain JSON, kept in the bundle, shown by `assay inspect`. */

export interface NodeReport {
  /** ONNX node name and operator type. */
  readonly node: string;
  readonly op: string;
  /**
   * What it became: 'matmul', 'wiring', 'clamp of a requantisation', ... Its consumers decide whether a requantisation
   * follows; the list of tensors names each one that does.
   */
  readonly loweredTo: string;
}

export interface TensorReport {
  readonly tensor: string;
  /** 'max', 'percentile 99.9', 'mse', 'fixed by the model' ...: how its scale was chosen. */
  readonly calibration: string;
  readonly scale: number;
  /** Share (0 to 1) of calibration elements that the stored range cut off. */
  readonly saturationShare: number;
  readonly lo: number;
  readonly hi: number;
}

/** Float against integer, over a set of samples. */
export interface AgreementReport {
  readonly samples: number;
  /** Share (0 to 1) of samples whose largest output element has the same index; null where the output is a single element. */
  readonly labelAgreement: number | null;
  readonly maxAbsError: number;
  readonly meanAbsError: number;
  /** For models that were quantised already: integer outputs that differ from onnxruntime's rounding, and the largest difference in units. */
  readonly integerDifferences?: { readonly elements: number; readonly differing: number; readonly maxUnits: number };
}

export interface CompileReport {
  readonly modelName: string;
  readonly opset: number;
  readonly parameters: number;
  /** Multiply-accumulates per item. */
  readonly macs: number;
  readonly nodes: readonly NodeReport[];
  readonly tensors: readonly TensorReport[];
  readonly calibration: AgreementReport;
  /** null where no held-out samples were given. */
  readonly heldOut: AgreementReport | null;
  /** Rows of each requantisation table with explicit values or a clamp, by tensor name. */
  readonly tableRows: readonly { readonly tensor: string; readonly rows: number }[];
  readonly largestAccumulator: { readonly tensor: string; readonly magnitude: number };
  readonly warnings: readonly string[];
}
