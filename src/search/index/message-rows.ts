// Reads messages for the index, in the order of the numbers of their events: a message belongs to the log of the session that wrote
// it, whatever branch or fork shows it.
import { HoldfastError } from "../../contracts/errors.ts";
import type { ContentBlock, Message, Role } from "../../contracts/messages.ts";
import type { IndexedMessageRow } from "../../contracts/storage/index-queries.ts";
import type { Payloads } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { toRef } from "../../core/bytes.ts";
import {
  decodeRow,
  jsonObject,
  list,
  oneOf,
  optional,
  plainObject,
  type RowName,
  text,
  whole,
  withBlob,
} from "../../core/decode.ts";
import { PageSize } from "../../core/page-size.ts";
import { rowId } from "../../core/row-id.ts";
import type { TextLanguage } from "../text/stem.ts";
import { messageItem } from "./message-item.ts";
import { ROLES } from "./reader.ts";
import type { IndexItem } from "./units.ts";

export interface NumberedItem {
  /** The number of its event. */
  readonly no: number;
  /** null: its content cannot be read. The checker reports the damage; the index goes on without the message. */
  readonly item: IndexItem | null;
}

export interface MessageReader {
  readonly storage: Storage;
  readonly payloads: Pick<Payloads, "read">;
}

/** Numbers of events: above `after`, up to `upTo`. */
export interface NumberRange {
  readonly after: number;
  readonly upTo: number;
}

/** The live messages whose events have these numbers, page by page. */
export async function* readMessages(
  source: MessageReader,
  { after, upTo }: NumberRange,
  language: TextLanguage,
): AsyncGenerator<NumberedItem, void, void> {
  const page = new PageSize();
  for (let last = after; last < upTo; ) {
    const limit = page.rows;
    const rows = await source.storage.query("index.messages", { after: last, upTo, limit });
    page.adjust(rows);
    for (const row of rows) yield { no: row.no, item: await readItem(source, row, language) };
    if (rows.length < limit) return;
    last = rows.at(-1)?.no ?? upTo;
  }
}

async function readItem(
  { storage, payloads }: MessageReader,
  row: IndexedMessageRow,
  language: TextLanguage,
): Promise<IndexItem | null> {
  const name = { kind: "message", session: row.session, seq: row.seq };
  try {
    const bytes = await payloads.read(withBlob(name, "content", row));
    return messageItem(row.session_no, decodeMessage(name, row, bytes), language);
  } catch (error) {
    if (!isDamage(error)) throw error;
    storage.environment.log("warn", "search.index.unreadable", { ...name, error: String(error) });
    return null;
  }
}

const DAMAGE = ["BlobCorrupted", "BlobNotFound", "StoreCorrupted"];

/** Blocks that are no blocks make a TypeError. */
function isDamage(error: unknown): boolean {
  return error instanceof HoldfastError ? DAMAGE.includes(error.code) : error instanceof TypeError;
}

const MESSAGE = { session: text, agent: text, seq: whole, role: oneOf<Role>(ROLES), at: whole };
const STORED = { content: list, metadata: optional(plainObject) };

function decodeMessage(name: RowName, row: IndexedMessageRow, bytes: Uint8Array): Message {
  const { session, agent, seq, role, at } = decodeRow(name, row, MESSAGE);
  const { content: stored } = decodeRow(name, { content: bytes }, { content: jsonObject });
  const { content, metadata } = decodeRow(name, stored, STORED);
  return {
    id: rowId(session, seq),
    session,
    agent,
    seq,
    role,
    content: content as readonly ContentBlock[],
    at,
    ...(metadata === null ? {} : { metadata }),
    ref: toRef(row.sha256),
  };
}
