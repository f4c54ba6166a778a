// The manifest of an archive, and the heads of its blobs: JSON before the rows and the bytes.

/** The first frame of an archive: what it contains. */
export interface Manifest {
  readonly format: number;
  readonly session: string;
  readonly sessions: readonly {
    readonly id: string;
    readonly seq: number;
    /** Hex. */
    readonly chain: string;
    /** false: only the rows that other sessions inherit. */
    readonly whole: boolean;
  }[];
  readonly blobs: number;
  readonly rows: number;
}

/** The description of a blob before its bytes. */
export interface BlobHeader {
  readonly sha256: string;
  readonly size: number;
  readonly media: string;
  readonly utf8: boolean;
  readonly at: number;
  readonly names?: readonly string[];
}
