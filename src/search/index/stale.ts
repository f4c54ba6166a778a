// Thrown when a segment has changed or is gone since the state of the index was read: the reader opens another snapshot.
export class StaleSnapshot extends Error {}
