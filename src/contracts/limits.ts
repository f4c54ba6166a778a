// Every limit has a name (rule ST8). Exceeding one is LimitExceeded, which names the limit; except for idBytes
// (InvalidId) and jsonDepth (InvalidJson).

export const LIMITS = {
  /** UTF-8 bytes of an id chosen by the caller (session, agent, run, alias, tag, label, key …). */
  idBytes: 512,
  /** UTF-8 bytes of a display text in a row: title, name, task title, description. */
  titleBytes: 4096,
  /** UTF-8 bytes of a task's note. */
  noteBytes: 65_536,
  /** UTF-8 bytes of an agent's system prompt, and of any metadata JSON kept in a row. */
  metadataBytes: 1_048_576,
  /** Bytes of one message's content as JSON. Larger content must be in blobs that the message refers to. */
  messageBytes: 67_108_864,
  /** Content blocks of one message. */
  blocksPerMessage: 10_000,
  /** Messages of one appendMany, which is one commit. */
  messagesPerAppend: 200_000,
  /** Bytes of one blob. */
  blobBytes: 17_179_869_184,
  /** Bytes of a blob that is stored or resolved in one piece; larger blobs need streams. */
  blobInMemoryBytes: 2_000_000_000,
  /** Nesting of caller JSON. */
  jsonDepth: 512,
  /** Bytes of one state value, and keys of one session's state. */
  stateValueBytes: 67_108_864,
  stateKeys: 10_000,
  /** Bytes of one payload as JSON: a final value, variables, a call's request or response, an eval's code or result. */
  payloadBytes: 67_108_864,
  /** Bytes of a step's input or result that runs.steps() shows; a larger one is named by its ref. */
  stepContentBytes: 65_536,
  /** Rows of one page of any list, and of one read. */
  page: 1000,
  historyPage: 200_000,
  eventsPage: 10_000,
  /** Tags of an agent or session, tool ids of an agent. */
  tags: 256,
  toolIds: 1024,
  /** Blocks of an agent; the maximum for the limit of a block in characters, and the default limit. */
  blocksPerAgent: 256,
  blockChars: 1_000_000,
  blockCharsDefault: 20_000,
  /** UTF-8 bytes of a memory file, and files of one agent in one namespace. */
  memoryFileBytes: 1_048_576,
  memoryFiles: 1000,
  /** Tasks of one board, boards of one session. */
  tasksPerBoard: 10_000,
  boardsPerSession: 1000,
  /** Slots of one batch of sub-sessions or leaf calls, and how many of them may run at the same time. */
  batchSlots: 10_000,
  batchConcurrency: 1000,
  /** UTF-8 bytes of a Datalog query (characters of its JSON form), its nesting, the forms in it. */
  queryBytes: 1_048_576,
  queryDepth: 64,
  queryForms: 100_000,
  /** Values of all inputs of a query, and the characters of those that are text. */
  queryInputValues: 100_000,
  queryInputChars: 16_777_216,
  /** Clauses of a query with its rules; elements of :find, :with or :in, of a tuple, of a rule's head or a call. */
  queryClauses: 1000,
  queryColumns: 100,
  /**
   * Tables that a query, or one of its parts, joins; recursive branches of rules that call each other; values in a
   * query; characters of the SQL that is compiled from it.
   */
  queryJoins: 60,
  queryBranches: 200,
  queryParams: 20_000,
  querySql: 1_000_000,
  /** Rows of a query's result, and how long the query may take (`timeoutMs`; default 10 seconds). */
  queryRows: 1_000_000,
  queryMs: 3_600_000,
  queryMsDefault: 10_000,
  /** Values of one attribute in a pull (default `page`), and the depth of a recursive pull. */
  pullValues: 10_000,
  pullDepth: 64,
  /** UTF-8 bytes of the text of a search; in it, different words, words with an asterisk, and excluded words and phrases. */
  searchBytes: 65_536,
  searchTerms: 2048,
  searchPrefixes: 32,
  searchExclusions: 64,
  /** Issues that a check lists (all are counted), and events that a walk along causes returns. */
  checkIssues: 1000,
  causes: 1000,
  /**
   * Bytes of the rows of an archive as JSON, and sessions in an archive: an import verifies them together, in memory.
   */
  archiveRowBytes: 536_870_912,
  archiveSessions: 10_000,
  /** Documents of one add, upsert or delete, which is one commit, and ids of one get. */
  documentsPerAdd: 10_000,
  /** Bytes of one document's content and metadata as JSON. Larger content must be in blobs that the document refers to. */
  documentBytes: 16_777_216,
  /** Collections of documents. */
  vectorCollections: 10_000,
  /** Values of all fields of one item's metadata that filters can find it by, each item of a list counted. */
  metadataFields: 10_000,
  /** UTF-8 bytes of a field's path and of a text in a metadata filter; its conditions and values, and its nesting. */
  filterPathBytes: 512,
  filterTextBytes: 512,
  filterConditions: 1000,
  filterDepth: 32,
  /** Numbers of one embedding. */
  embeddingDimensions: 4096,
  /** UTF-8 bytes of a memory's content, and of the value of its attribute. */
  memoryBytes: 1_048_576,
  memoryValueBytes: 65_536,
  /** Memories whose place one memory takes, and memories that a judge gets to see. */
  memoriesSuperseded: 1000,
  memoriesJudged: 10,
  /** UTF-8 bytes of a search query. */
  searchQueryBytes: 65_536,
  /** Files of one capture. */
  captureFiles: 50_000,
  /** Bytes of all files of a bundle, which are in memory at once, and of the list of them. */
  bundleBytes: 2_000_000_000,
  bundleListBytes: 67_108_864,
  /**
   * How many bytes of an untrusted compressed file are unpacked into memory: this many, or this many for each of its
   * own bytes.
   */
  unpackedBytes: 33_554_432,
  unpackedRatio: 250,
  /** How often a rule decides again after a refused guard, before it gives up with a retryable Conflict. */
  decideAttempts: 64,
} as const;

export type LimitName = keyof typeof LIMITS;
