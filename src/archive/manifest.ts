// What an archive says of itself and of its blobs, as JSON before the rows and the bytes.

/** What an archive says of itself before anything else. */
export interface Manifest {
  readonly format: number;
  readonly session: string;
  readonly sessions: readonly {
    readonly id: string;
    readonly seq: number;
    /** Hex. */
    readonly chain: string;
    /** false: only what others inherit. */
    readonly whole: boolean;
  }[];
  readonly blobs: number;
  readonly rows: number;
}

/** What an archive says of a blob before its bytes. */
export interface BlobHead {
  readonly sha256: string;
  readonly size: number;
  readonly media: string;
  readonly utf8: boolean;
  readonly at: number;
  readonly names?: readonly string[];
}
