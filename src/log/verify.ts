// Verifying a chain: every hash is computed again from what is stored, every column is compared with the envelope that
// was hashed, and the end with what the session row says, so that a cut-off tail is seen too.
import { HoldfastError } from "../contracts/errors.ts";
import type { Anchor, VerifyReport } from "../contracts/log.ts";
import type { WholeEventRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { fromHex, sameBytes, sha256, toHex } from "../core/bytes.ts";
import { commitment, genesis, nextHash } from "../core/chain.ts";
import { existingSession } from "../core/existing.ts";

const PAGE = 1000;
const SALT_BYTES = 16;

interface Bad {
  readonly seq: number;
  readonly reason: string;
}

export async function verifyChain(
  storage: Storage,
  session: string,
  from: Anchor | undefined,
  anchor: Anchor | undefined,
): Promise<VerifyReport> {
  for (const point of [from, anchor]) {
    if (point !== undefined && point.session !== session) {
      throw new HoldfastError("InvalidArgument", "the anchor is of another session", {
        details: { session: point.session },
      });
    }
  }
  const row = await existingSession(storage, session);
  // Verified up to where the log stood when asked; writers go on meanwhile.
  const end = row.seq;
  let seq = from?.seq ?? 0;
  let hash = from === undefined ? genesis(session) : (fromHex(from.hash) ?? new Uint8Array());
  let events = 0;
  const bad = (found: Bad): VerifyReport => ({ ok: false, session, badSeq: found.seq, reason: found.reason, events });
  if (from !== undefined && from.seq > 0) {
    const [start] = await storage.query("events.at", session, from.seq);
    if (start === undefined) return bad({ seq: from.seq, reason: "the point to start from is not in the log" });
    if (!sameBytes(start.hash, hash))
      return bad({ seq: from.seq, reason: "the log has another hash at the starting point" });
  }
  if (anchor !== undefined && anchor.seq <= seq) {
    const [held] = await storage.query("events.at", session, anchor.seq);
    const known = anchor.seq === 0 ? genesis(session) : held?.hash;
    if (known === undefined) return bad({ seq: anchor.seq, reason: "the anchor's event is missing" });
    if (toHex(known) !== anchor.hash) return bad({ seq: anchor.seq, reason: "the anchor has another hash" });
  }
  while (seq < end) {
    const rows = await storage.query("events.whole", session, seq, Math.min(PAGE, end - seq));
    if (rows.length === 0) return bad({ seq: seq + 1, reason: `the log ends at ${seq}, the session says ${end}` });
    for (const event of rows) {
      const wrong = checkEvent(event, seq + 1, hash);
      if (wrong !== null) return bad(wrong);
      seq = event.seq;
      hash = event.hash;
      events++;
      if (anchor?.seq === seq && anchor.hash !== toHex(hash))
        return bad({ seq, reason: "the anchor has another hash" });
    }
  }
  if (seq !== end) return bad({ seq: end + 1, reason: `the session says that its log ends at ${end}` });
  if (!sameBytes(hash, row.chain)) return bad({ seq: end, reason: "the session row has another chain hash" });
  const [beyond] = await storage.query("events.at", session, end + 1);
  const [now] = await storage.query("session.get", session);
  if (beyond !== undefined && now !== undefined && now.seq <= end) {
    return bad({ seq: end + 1, reason: `there is an event behind the end of the log` });
  }
  if (anchor !== undefined && anchor.seq > end)
    return bad({ seq: end + 1, reason: `the log is shorter than the anchor` });
  return { ok: true, session, events, seq: end, hash: toHex(hash) };
}

/** What is wrong with an event that should follow a hash; also asked of events that come from elsewhere. */
export function checkEvent(event: WholeEventRow, expected: number, previous: Uint8Array): Bad | null {
  if (event.seq !== expected) return { seq: expected, reason: `event ${expected} is missing` };
  if (!sameBytes(nextHash(previous, event.body), event.hash))
    return { seq: expected, reason: "the hash does not match" };
  const body = parse(event.body);
  if (body === null) return { seq: expected, reason: "the envelope is not JSON" };
  for (const [name, column] of [
    ["seq", event.seq],
    ["type", event.type],
    ["at", event.at],
  ] as const) {
    if (body[name] !== column) return { seq: expected, reason: `the column ${name} is not what the envelope says` };
  }
  const column = wrongColumn(event, body);
  return column === null ? null : { seq: expected, reason: `the column ${column} is not what the envelope says` };
}

type Envelope = Readonly<Record<string, unknown>>;

/** Of the message this event added: the first column that is not what was hashed. */
function wrongColumn(event: WholeEventRow, body: Envelope): string | null {
  const { role, agent, run, key, sha256: digest, salt, words, erased_seq } = event;
  const isMessage = event.type === "message/added";
  if (!isMessage) return role === null && agent === null && digest === null ? null : "role";
  const data = (body.data ?? {}) as Envelope;
  if (role !== data.role) return "role";
  if (agent !== body.agent) return "agent_no";
  if (run !== (body.run ?? null)) return "run";
  if (erased_seq !== null) return [digest, salt, words, key].every((cell) => cell === null) ? null : "erased_seq";
  if (key !== (data.key ?? null)) return "key";
  const { content } = (body.commitments ?? {}) as Envelope;
  if (digest === null || salt?.byteLength !== SALT_BYTES || commitment(salt, digest) !== content) return "sha256";
  return words === null || sameBytes(sha256(words), digest) ? null : "words";
}

function parse(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch {
    return null;
  }
}
