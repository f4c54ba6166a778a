// Snapshots: the variables of a session at a position of its log.
import type { Json } from "../contracts/json.ts";
import type { Snapshot, Snapshots } from "../contracts/lineage.ts";
import type { SnapshotRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { SNAPSHOT_VERBS } from "../contracts/verbs/lineage.ts";
import type { RowId } from "../contracts/verbs/vocabulary.ts";
import { toRef } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { type Decision, decide } from "../core/decide.ts";
import { decodeRow, json, whole } from "../core/decode.ts";
import { optionalRowId, rowId } from "../core/row-id.ts";
import { branchGuard } from "../core/session-guards.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { snapshotEvent } from "./publish.ts";
import { checkTurn } from "./turns.ts";
import { noRow } from "./versioned-rows.ts";

export function snapshotOf(row: SnapshotRow): Snapshot {
  const { session } = row;
  const { seq, branch, at } = decodeRow({ kind: "snapshot", session, seq: row.seq }, row, {
    seq: whole,
    branch: whole,
    at: whole,
  });
  return {
    id: rowId(session, seq),
    session,
    seq,
    branch,
    turn: optionalRowId(session, row.turn_seq),
    varsRef: row.vars === null ? null : toRef(row.vars),
    at,
    erased: row.erased_seq !== null,
  };
}

export function createSnapshots(storage: Storage, payloads: Payloads, lookup: SessionLookup): Snapshots {
  const find = async ({ session, seq }: RowId) => {
    const [row] = await storage.query("snapshot.get", { session, seq });
    return row;
  };
  return bindVerbs(SNAPSHOT_VERBS, lookup, {
    async add(id, vars, { turn }) {
      const bytes = encodeJson(vars, "vars", "payloadBytes");
      return payloads.preparing(async (prepare) => {
        const payload = await prepare(bytes, { media: "application/json", utf8: true, owned: true });
        return decide(storage, () => addSnapshot(storage, id, payload, turn));
      });
    },
    async get(id) {
      const row = await find(id);
      return row === undefined ? null : snapshotOf(row);
    },
    async vars(id): Promise<Json> {
      const row = await find(id);
      if (row === undefined || row.vars === null) throw noRow("snapshot", rowId(id.session, id.seq));
      const name = { kind: "snapshot", session: row.session, seq: row.seq };
      const [stored] = await storage.query("blob.payload", { sha256: row.vars });
      if (stored === undefined) throw noRow("snapshot", rowId(id.session, id.seq));
      return decodeRow(name, { vars: await payloads.read(stored) }, { vars: json }).vars;
    },
  });
}

async function addSnapshot(
  storage: Storage,
  id: string,
  payload: PreparedPayload,
  turn: RowId | undefined,
): Promise<Decision<Snapshot>> {
  const session = await existingSession(storage, id);
  const turnSeq = await checkTurn(storage, session, turn);
  const at = storage.environment.now();
  const { blobs, writes, uses, sha256, salt } = payload;
  return {
    commit: {
      sessions: [{ id, mode: "existing", at }],
      guards: [branchGuard(session)],
      blobs,
      writes,
      uses,
      events: [snapshotEvent(id, payload, at, turnSeq)],
    },
    answer: ({ events }) =>
      snapshotOf({
        session: id,
        seq: events[0]?.seq ?? 0,
        branch: session.branch,
        turn_seq: turnSeq,
        vars: sha256,
        salt,
        at,
        erased_seq: null,
      }),
  };
}
