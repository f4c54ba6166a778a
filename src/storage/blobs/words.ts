// Short contents are kept in the rows of their messages, and are blobs all the same: whoever has the ref can resolve it.
// They are found by an index that is brought up to date only when somebody looks for one, so that no append pays for it.
import type { BlobRow } from "../../contracts/queries.ts";
import type { Write } from "../../contracts/storage.ts";
import { type Claim, FORM, NO_TIME } from "./claims.ts";
import type { Depot } from "./place.ts";
import { commitOrThrow, placePlain } from "./put.ts";

/** Rows indexed by one commit, for which all who append must wait. */
const ROWS = 10_000;

/** As in storage/sql/words.ts. */
const PREFIX_BYTES = 8;

/** Number of a row that is no row of blobs. */
export const IN_ROW = -1;

export async function findWords(
  depot: Depot,
  digest: Uint8Array,
): Promise<(BlobRow & { readonly body: Uint8Array }) | null> {
  const { storage } = depot;
  const prefix = digest.slice(0, PREFIX_BYTES);
  let [found] = await storage.query("words.get", prefix, digest);
  if (found === undefined && (await catchUp(depot))) [found] = await storage.query("words.get", prefix, digest);
  if (found === undefined) return null;
  const [rows] = await storage.query("words.count", prefix, digest);
  return {
    no: IN_ROW,
    sha256: found.sha256,
    size: found.size,
    media: "application/json",
    utf8: 1,
    form: FORM.plain,
    stored: found.size,
    store: "",
    key: null,
    refs: rows?.n ?? 1,
    pinned: 0,
    expires_at: null,
    epoch: 0,
    condemned: null,
    created_at: found.created_at,
    linked: 0,
    body: found.body,
  };
}

/** Puts into the index what came since; false when nothing did. */
async function catchUp(depot: Depot): Promise<boolean> {
  for (let moved = false; ; moved = true) {
    const [lag] = await depot.storage.query("words.lag");
    if (lag === undefined || lag.upto >= lag.newest) return moved;
    const to = Math.min(lag.newest, lag.upto + ROWS);
    await commitOrThrow(depot, {
      solo: true,
      settled: true,
      writes: [
        { op: "run", statement: "words.index", params: [to] },
        { op: "run", statement: "words.indexed", params: [to, to] },
      ],
    });
  }
}

/** Becomes a blob of its own together with the pin, which may outlive the message; false when there is none. */
export async function pinWords(depot: Depot, digest: Uint8Array, pin: Write): Promise<boolean> {
  const found = await findWords(depot, digest);
  if (found === null) return false;
  const at = depot.storage.environment.now();
  const claim: Claim = { media: found.media, utf8: true, refs: 0, expiresAt: NO_TIME, at };
  const blob = await placePlain(depot, digest, found.body, claim);
  await commitOrThrow(depot, { blobs: [blob], writes: [pin] });
  return true;
}
