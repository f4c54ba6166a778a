// The upload of a large blob. Its chunks are written in commits of a few megabytes. Until the last commit, a holder row
// (form 4) with a random name keeps them. So chunks always have an owner, the owner expires after a crash, and the last
// commit only moves the chunks to the blob.
import type { BlobWrite, Commit, Refusal, Write } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import { sha256, toHex } from "../../core/bytes.ts";
import { refusalError } from "../../core/decide.ts";
import type { BlobContext } from "./byte-store.ts";
import { type BlobClaim, FORM, PART, renewal } from "./claims.ts";
import { takeApart } from "./drop.ts";
import { placePlain, renew } from "./put.ts";

/** Bytes per commit, so that a large blob blocks neither the event loop nor the write-ahead log. */
export const BATCH_BYTES = 4 * 1024 * 1024;

/** How long an upload may make no progress. */
const UPLOAD_MS = 3600 * 1000;

const LAST_ORD = Number.MAX_SAFE_INTEGER;

export class Upload {
  readonly holder: Uint8Array;
  readonly #context: BlobContext;
  #chunks = 0;

  constructor(context: BlobContext) {
    this.#context = context;
    this.holder = context.storage.environment.random(32);
  }

  async add(chunks: readonly Uint8Array[]): Promise<void> {
    if (chunks.length === 0) return;
    const { storage } = this.#context;
    const digests = chunks.map((chunk) => sha256(chunk));
    const distinct = new Map(digests.map((digest, i) => [toHex(digest), { digest, chunk: chunks[i] ?? EMPTY }]));
    const known = await this.#known([...distinct.values()].map(({ digest }) => digest));
    for (;;) {
      const at = storage.environment.now();
      const claim = { ...PART, at };
      const parts = [...distinct].map(([hex, { digest, chunk }]) => {
        const row = known.get(hex);
        return row === undefined ? placePlain(this.#context, digest, chunk, claim) : renewal(row, claim);
      });
      const blobs: BlobWrite[] = [holderWrite(this.#context, this.holder, at), ...(await Promise.all(parts))];
      const used: NonNullable<Commit["uses"]> = [...known.values()].map((row) => [row.sha256, 0]);
      const writes = digests.map((digest, i) => link(this.holder, this.#chunks + i, digest));
      const outcome = await storage.commit({ blobs, writes, uses: this.#chunks === 0 ? used : [...used, this.use()] });
      await this.#context.byteStore.drop(blobs);
      if (outcome.ok) break;
      this.#missing(outcome.refused, known);
    }
    this.#chunks += chunks.length;
  }

  /** Existing chunks are neither compressed nor sent again. */
  async #known(digests: readonly Uint8Array[]): Promise<Map<string, BlobRow>> {
    const rows = await Promise.all(
      digests.map((digest) => this.#context.storage.query("blob.head", { sha256: digest })),
    );
    return new Map(rows.flatMap(([row]) => (row === undefined ? [] : [[toHex(row.sha256), row] as const])));
  }

  #missing(refused: Refusal, known: Map<string, BlobRow>): void {
    if (refused.reason !== "blob-missing") throw refusalError(refused);
    known.delete(toHex(refused.sha256));
  }

  use(): readonly [Uint8Array, number, "parts"] {
    return [this.holder, 0, "parts"];
  }

  async finish(digest: Uint8Array, size: number, claim: BlobClaim): Promise<Uint8Array> {
    if (await renew(this.#context, digest, claim)) {
      await this.abandon();
      return digest;
    }
    const outcome = await this.#context.storage.commit({
      uses: [this.use()],
      blobs: [wholeWrite(this.#context, digest, size, FORM.chunks, claim)],
      writes: this.handOver(digest),
    });
    if (!outcome.ok) this.#missing(outcome.refused, new Map());
    return digest;
  }

  /** The further writes of the commit that puts the blob: the chunks move to the blob, and the holder is removed. */
  handOver(digest: Uint8Array): Write[] {
    return [
      { op: "run", statement: "links.makeRoom", params: [digest, this.holder] },
      { op: "run", statement: "links.adopt", params: [digest, this.holder, digest] },
      ...dropHolder(this.holder),
    ];
  }

  /** What cannot be removed now expires and is collected. */
  async abandon(): Promise<void> {
    if (this.#chunks === 0) return;
    await takeApart(this.#context, this.holder).catch((error) => {
      this.#context.storage.environment.log("warn", "blobs.abandon", { error: String(error) });
    });
  }
}

const EMPTY = new Uint8Array(0);

export function holderWrite(context: BlobContext, holder: Uint8Array, at: number): BlobWrite {
  const claim = { media: "", utf8: false, refs: 0, expiresAt: at + UPLOAD_MS, at };
  return wholeWrite(context, holder, 0, FORM.holder, claim);
}

/** A row whose bytes are in its parts. */
export function wholeWrite(
  context: BlobContext,
  digest: Uint8Array,
  size: number,
  form: 2 | 3 | 4,
  claim: BlobClaim,
): BlobWrite {
  return { sha256: digest, size, form, body: null, stored: 0, store: context.byteStore.store, key: null, ...claim };
}

export function link(parent: Uint8Array, ord: number, child: Uint8Array): Write {
  return { op: "insert", table: "blob_links", row: { parent_no: parent, ord, child_no: child } };
}

export function dropHolder(holder: Uint8Array): Write[] {
  return [
    { op: "run", statement: "links.cut", params: [holder, LAST_ORD] },
    { op: "run", statement: "segments.forget", params: [holder] },
    { op: "run", statement: "blob.drop", params: [holder] },
  ];
}

/** Makes the holder keep an existing blob; false if there is none. */
export async function hold(context: BlobContext, holder: Uint8Array, digest: Uint8Array): Promise<boolean> {
  const outcome = await context.storage.commit({
    uses: [[digest, 0]],
    blobs: [holderWrite(context, holder, context.storage.environment.now())],
    writes: [link(holder, 0, digest)],
  });
  if (!outcome.ok && outcome.refused.reason !== "blob-missing") throw refusalError(outcome.refused);
  return outcome.ok;
}
