// Removes captures: their files are deleted unless another row refers to them; the log records each removal and its reason.
import type { CapturesRemoved } from "../contracts/captures.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import { decide } from "../core/decide.ts";
import { discardErased, forgetWrites, releaseWrites, type Tally, tally } from "../core/erasure.ts";
import { isExpired } from "./rows.ts";
import { type CaptureContext, unchangedGuard } from "./save.ts";

export type RemovalReason = "asked" | "request" | "expired";

/** Each removal is one commit. A capture that was saved or kept meanwhile is read again first. */
export async function removeCaptures(
  context: CaptureContext,
  rows: readonly CaptureRow[],
  why: RemovalReason,
): Promise<CapturesRemoved> {
  const { storage, payloads } = context;
  const removed: CapturesRemoved["removed"][number][] = [];
  let bytes = 0;
  const later: Tally["later"][number][] = [];
  for (const { id } of rows) {
    const gone = await removeOne(context, id, why);
    if (gone === null) continue;
    removed.push({ id, request: gone.row.request, sessionId: gone.row.agent_session });
    bytes += gone.row.stored;
    for (const one of gone.later) later.push(one);
  }
  if (removed.length > 0) await discardErased(storage, payloads, later);
  return { removed, bytes };
}

interface RemovedRow {
  readonly row: CaptureRow;
  readonly later: Tally["later"];
}

function removeOne({ storage }: CaptureContext, id: string, why: RemovalReason): Promise<RemovedRow | null> {
  return decide<RemovedRow | null>(storage, async () => {
    const [row] = await storage.query("capture.get", { id });
    const at = storage.environment.now();
    if (row === undefined || (why === "expired" && !isExpired(row, at))) return { answer: null };
    const { session } = row;
    return {
      commit: {
        solo: true,
        sessions: [{ id: session, mode: "existing", at }],
        guards: [unchangedGuard(row, session)],
        events: [
          {
            session,
            type: "capture/removed",
            at,
            data: { capture: id, why },
            writes: [...releaseWrites(["capture"], at, { id }), ...forgetWrites(["capture"], { id })],
          },
        ],
      },
      answer: ({ found = {} }) => ({ row, later: tally(found, ["capture"], at).later }),
    };
  });
}
