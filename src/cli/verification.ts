// Verifies sessions one by one and continues after damage, so that a damaged session does not hide another.
import type { CheckKind } from "../contracts/check.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Anchor } from "../contracts/log.ts";
import { UsageError } from "./failure.ts";
import { parseJson, readTextFile } from "./input.ts";
import type { Io } from "./io.ts";
import { locate, shortHead } from "./locate.ts";
import { eachSession, readDamagedSession } from "./session-walk.ts";
import { hasTombstone } from "./sessions.ts";
import { plural } from "./units.ts";

export interface Finding {
  readonly session: string;
  readonly ok: boolean;
  readonly events: number;
  /** The chain head, if the chain is valid. */
  readonly hash?: string;
  readonly badSeq?: number;
  /** The session of badSeq, if the event is inherited. */
  readonly source?: string;
  readonly reason?: string;
  readonly note?: string;
  /** Counts of the content that --blobs verified. */
  readonly content?: Content;
}

/** How many rows of each kind, and blobs that they name, were read. */
type Content = Readonly<Record<string, number>>;

export type Anchors = ReadonlyMap<string, Anchor>;

export interface Verification {
  /** Empty: all sessions. */
  readonly sessions: readonly string[];
  readonly anchors: Anchors;
  readonly from: Anchors;
  /** Whether to verify every payload that the events commit to, on all branches. */
  readonly content: boolean;
  progress(sessions: number, events: number): Promise<void>;
}

export async function verifyAll(holdfast: Holdfast, verification: Verification): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  let events = 0;
  const visit = async (session: string, rowDamage?: string, head?: string) => {
    const found = await verifySession(holdfast, session, verification, head);
    const finding = rowDamage === undefined || !found.ok ? found : { ...found, ok: false, reason: rowDamage };
    findings.push(finding);
    events += finding.events;
    await verification.progress(findings.length, events);
  };
  if (verification.sessions.length > 0) {
    for (const named of verification.sessions) {
      const { why, ...at } = await locateSession(holdfast, named);
      await visit(at.head === undefined ? needAnchor(at.session, verification.anchors) : at.session, why, at.head);
    }
    return findings;
  }
  await eachSession(holdfast, ({ id }) => visit(id), visit);
  const seen = new Set(findings.map(({ session }) => session));
  for (const session of verification.anchors.keys()) if (!seen.has(session)) await visit(session);
  return findings;
}

/** Resolves the session to verify, with the damage of its row if it has any. */
async function locateSession(holdfast: Holdfast, named: string): Promise<Locator & { readonly why?: string }> {
  try {
    return await locate(holdfast, named);
  } catch (error) {
    const damaged = readDamagedSession(error);
    if (damaged === undefined) throw error;
    return { session: damaged.session, why: damaged.why };
  }
}

/** Refuses a session without an anchor, because its result would look anchored. */
function needAnchor(session: string, anchors: Anchors): string {
  if (anchors.size > 0 && !anchors.has(session))
    throw new UsageError(`the --anchor file has no anchor for "${session}"`);
  return session;
}

async function verifySession(
  holdfast: Holdfast,
  session: string,
  verification: Verification,
  head: string | undefined,
): Promise<Finding> {
  const anchor = verification.anchors.get(session);
  const trusted = verification.from.get(session);
  // Verification from a trusted point would skip an earlier anchor, so the whole chain is verified then.
  let events = 0;
  const from = trusted !== undefined && anchor !== undefined && anchor.seq < trusted.seq ? undefined : trusted;
  try {
    const at = head === undefined ? { session } : { session, head };
    const report = await holdfast.log.verify(at, {
      ...(anchor === undefined ? {} : { anchor }),
      ...(from === undefined ? {} : { from }),
      // If all sessions are verified, inherited events are verified in their own session.
      ...(verification.sessions.length === 0 ? { inherited: "deleted" } : {}),
    });
    if (!report.ok) return report;
    events = report.events;
    const content = verification.content ? { content: await readPayloads(holdfast, session) } : {};
    const headNotes = head === undefined ? [] : [`contains head ${shortHead(head)}`];
    const notes = [...(anchor === undefined ? [] : [`anchored at ${anchor.seq}`]), ...headNotes];
    const note = notes.length === 0 ? {} : { note: notes.join(", ") };
    return { ok: true, session, events: report.events, hash: report.hash, ...content, ...note };
  } catch (error) {
    return await damageFinding(holdfast, session, anchor, events, error);
  }
}

/** An error about damage becomes a finding; any other error stops the verification. */
async function damageFinding(
  holdfast: Holdfast,
  session: string,
  anchor: Anchor | undefined,
  events: number,
  error: unknown,
): Promise<Finding> {
  if (!isHoldfastError(error)) throw error;
  switch (error.code) {
    case "BlobCorrupted":
    case "BlobNotFound":
    case "ExecutionCorrupted":
    case "StoreCorrupted":
    case "UnsupportedSchemaVersion": {
      const seq = error.details.seq ?? error.details.badSeq;
      return {
        ok: false,
        session,
        events,
        reason: error.message,
        ...(typeof seq === "number" ? { badSeq: seq } : {}),
      };
    }
    case "SessionDeleted":
    case "NotFound": {
      // A session that was listed before and is missing now was erased. With an anchor but no tombstone, it is lost.
      const isErased = anchor === undefined || (await hasTombstone(holdfast, session));
      if (isErased) return { ok: true, session, events: 0, note: "erased; nothing to verify" };
      return { ok: false, session, events: 0, badSeq: 1, reason: "the anchored session does not exist" };
    }
    default:
      throw error;
  }
}

/** The kinds of issues about payloads; `holdfast check` also reports those about rows. */
const PAYLOAD_ISSUES: ReadonlySet<CheckKind> = new Set([
  "blob-missing",
  "blob-part-missing",
  "blob-hash-mismatch",
  "head-final-missing",
  "commitment-mismatch",
]);

/** Reads all payloads that the session's rows name, as the checker does: on all branches, and inherited payloads. */
async function readPayloads(holdfast: Holdfast, session: string): Promise<Content> {
  const { issues, counts } = await holdfast.check({ session });
  const bad = issues.filter(({ kind }) => PAYLOAD_ISSUES.has(kind));
  const [first] = bad;
  if (first === undefined) {
    const { sessions: _, events: __, ...content } = counts;
    return content;
  }
  const [row = "", ...more] = first.rows;
  const eventId = first.rows.find((one) => one.startsWith(`${session}#`));
  const source = more.length === 0 ? undefined : more[0];
  const where = source === undefined ? row : `${source}: ${row}`;
  const others = bad.length === 1 ? "" : `, and ${plural(bad.length - 1, "more issue")} of payloads`;
  throw new HoldfastError("BlobCorrupted", `${where}: ${MEANING[first.kind] ?? first.kind}${others}`, {
    details: {
      issues: bad.length,
      ...(eventId === undefined ? {} : { seq: Number(eventId.slice(session.length + 1)) }),
    },
  });
}

const MEANING: Readonly<Partial<Record<CheckKind, string>>> = {
  "blob-missing": "the payload that it names does not exist",
  "blob-part-missing": "a part of the payload does not exist",
  "blob-hash-mismatch": "the bytes do not have the blob's hash",
  "head-final-missing": "its final value does not exist",
  "commitment-mismatch": "it names another payload than its event committed to",
};

/** Reads one anchor or a list of anchors, as `holdfast log anchor` prints them. */
export async function readAnchors(file: string | undefined, io: Io): Promise<Anchors> {
  if (file === undefined) return new Map();
  const value = parseJson(await readTextFile(file, io), file);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const anchors = list.map((one) => {
    if (!isAnchor(one)) {
      throw new UsageError(
        `${file} contains no anchor: \`holdfast log anchor\` prints one, with its session, seq and hash`,
      );
    }
    return [one.session, one] as const;
  });
  if (anchors.length === 0) throw new UsageError(`${file} contains no anchor`);
  return new Map(anchors);
}

function isAnchor(value: unknown): value is Anchor {
  if (typeof value !== "object" || value === null) return false;
  const { session, seq, hash } = value as Partial<Record<keyof Anchor, unknown>>;
  return typeof session === "string" && Number.isSafeInteger(seq) && typeof hash === "string";
}
