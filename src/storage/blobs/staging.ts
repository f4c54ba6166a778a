// Stores many blobs of any size before the commit with the rows that refer to them. The blobs are written in commits of
// a few megabytes, and a holder row (form 4) keeps them until that commit takes them over. After a crash the holder
// expires, and with it every blob that no other row needs.
import type { BlobWrite, Write } from "../../contracts/storage/commit.ts";
import type { ArrivingBlob, BlobStaging } from "../../contracts/storage/payloads.ts";
import { sameBytes, sha256 } from "../../core/bytes.ts";
import { refusalError } from "../../core/decide.ts";
import type { BlobContext } from "./byte-store.ts";
import { type BlobClaim, isExpired, NO_TIME } from "./claims.ts";
import { dropBlobs, takeApart } from "./drop.ts";
import { placePlain } from "./put.ts";
import { BATCH_BYTES, dropHolder, holderWrite, link } from "./upload.ts";
import { LARGE_BYTES, storeSource } from "./write.ts";

/** Blobs of one commit. */
const MOST_TOGETHER = 500;

export function createBlobStaging(context: BlobContext): BlobStaging {
  const held = new HeldBlobs(context);
  return {
    put: (blob, bytes) => held.put(blob, bytes),
    handOver: (names) => held.handOver(names),
    abandon: () => held.abandon(),
  };
}

class HeldBlobs {
  readonly #context: BlobContext;
  readonly #holder: Uint8Array;
  /** Small blobs that go together. */
  #waiting: { readonly blob: BlobWrite; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  #links = 0;

  constructor(context: BlobContext) {
    this.#context = context;
    this.#holder = context.storage.environment.random(32);
  }

  async put(blob: ArrivingBlob, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<boolean> {
    // It lives only by its rows: without one it has expired long ago, on any clock.
    const claim: BlobClaim = { media: blob.media, utf8: blob.utf8, refs: 0, expiresAt: NO_TIME, at: blob.at };
    const pieces: Uint8Array[] = [];
    let size = 0;
    const iterator = asyncIterator(source);
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
      pieces.push(next.value);
      size += next.value.length;
      if (size >= LARGE_BYTES) return this.#putLarge(blob, claim, pieces, iterator);
    }
    const bytes = Buffer.concat(pieces, size);
    if (!sameBytes(sha256(bytes), blob.sha256)) return false;
    this.#waiting.push({ blob: await placePlain(this.#context, blob.sha256, bytes, claim), bytes: size });
    this.#waitingBytes += size;
    if (this.#waitingBytes >= BATCH_BYTES || this.#waiting.length >= MOST_TOGETHER) await this.#flush();
    return true;
  }

  async #putLarge(
    blob: ArrivingBlob,
    claim: BlobClaim,
    first: readonly Uint8Array[],
    rest: AsyncIterator<Uint8Array>,
  ): Promise<boolean> {
    const digest = await storeSource(this.#context, chained(first, rest), claim);
    if (!sameBytes(digest, blob.sha256)) return false;
    await this.#hold([], [digest]);
    return true;
  }

  async #flush(): Promise<void> {
    const blobs = this.#waiting.map(({ blob }) => blob);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (blobs.length === 0) return;
    await this.#hold(
      blobs,
      blobs.map((blob) => blob.sha256),
    );
    // Another commit may have been faster: then the row names that commit's bytes, and ours are unused.
    await this.#context.byteStore.drop(blobs);
  }

  async #hold(blobs: readonly BlobWrite[], digests: readonly Uint8Array[]): Promise<void> {
    const { storage } = this.#context;
    const isThere = this.#links > 0 ? ([[this.#holder, 0, "parts"]] as const) : [];
    const outcome = await storage.commit({
      blobs: [holderWrite(this.#context, this.#holder, storage.environment.now()), ...blobs],
      writes: digests.map((digest, i) => link(this.#holder, this.#links + i, digest)),
      // Blobs that this commit itself puts need not exist before.
      uses: [...isThere, ...(blobs.length === 0 ? digests.map((digest) => [digest, 0, "parts"] as const) : [])],
    });
    if (!outcome.ok) throw refusalError(outcome.refused);
    this.#links += digests.length;
  }

  async handOver(names: ReadonlyMap<Uint8Array, readonly Uint8Array[]>): Promise<{
    readonly writes: readonly Write[];
    readonly uses: readonly (readonly [Uint8Array, number, "parts"])[];
  }> {
    await this.#flush();
    const links = [...names].flatMap(([parent, children]): Write[] => [
      { op: "run", statement: "links.forget", params: [parent] },
      ...children.map((child, i) => link(parent, -1 - i, child)),
    ]);
    if (this.#links === 0) return { writes: links, uses: [] };
    return { writes: [...links, ...dropHolder(this.#holder)], uses: [[this.#holder, 0, "parts"]] };
  }

  async #releaseHolder(): Promise<void> {
    const { storage } = this.#context;
    for (;;) {
      const parts = await storage.query("blob.parts", { sha256: this.#holder, limit: MOST_TOGETHER });
      const last = parts.at(-1);
      if (last === undefined) break;
      const cut: Write = { op: "run", statement: "links.cut", params: [this.#holder, last.ord] };
      await storage.commit({ writes: [cut] });
      for (const { sha256: digest } of parts) {
        const [row] = await storage.query("blob.head", { sha256: digest });
        if (row !== undefined && isExpired(row, storage.environment.now())) await dropBlobs(this.#context, [row]);
      }
    }
    await takeApart(this.#context, this.#holder);
  }

  /** Blobs that cannot be removed now expire later and are collected. */
  async abandon(): Promise<void> {
    const waiting = this.#waiting.map(({ blob }) => blob);
    this.#waiting = [];
    await this.#context.byteStore.drop(waiting);
    if (this.#links === 0) return;
    await this.#releaseHolder().catch((error) => {
      this.#context.storage.environment.log("warn", "blobs.abandon", { error: String(error) });
    });
  }
}

function asyncIterator(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterator<Uint8Array> {
  return (async function* () {
    yield* source;
  })();
}

async function* chained(first: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}
