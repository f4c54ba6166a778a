// Reads messages from their rows.
import { HoldfastError } from "../contracts/errors.ts";
import type { ContentBlock, Message } from "../contracts/messages.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow } from "../contracts/storage/rows.ts";
import { toRef } from "../core/bytes.ts";
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
} from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import type { TimeSlice } from "../core/time-slice.ts";
import { ROLES } from "./append.ts";

export function readContent(row: MessageRow, payloads: Pick<Payloads, "read">): Uint8Array | Promise<Uint8Array> {
  if (row.form === null || row.sha256 === null) withBlob(nameOf(row), "content", row);
  try {
    const bytes = payloads.read(row);
    return bytes instanceof Promise ? bytes.catch((error) => Promise.reject(inMessage(row, error))) : bytes;
  } catch (error) {
    throw inMessage(row, error);
  }
}

function nameOf({ session, seq }: MessageRow): RowName {
  return { kind: "message", session, seq };
}

/** The error for a damaged blob, with the id of the message. */
function inMessage(row: MessageRow, error: unknown): unknown {
  if (!(error instanceof HoldfastError) || error.code !== "BlobCorrupted") return error;
  const { session, seq } = row;
  return new HoldfastError("BlobCorrupted", `message ${rowId(session, seq)}: ${error.message}`, {
    details: { ...error.details, session, seq },
    hint: `Restore the store from a backup to get its text. Read the later messages with after: ${JSON.stringify(rowId(session, seq))}.`,
    cause: error,
  });
}

export async function readRows(
  rows: readonly MessageRow[],
  payloads: Pick<Payloads, "read">,
  slice: TimeSlice,
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const row of rows) {
    if (slice.isSpent) await slice.pause();
    const bytes = readContent(row, payloads);
    messages.push(messageOf(row, bytes instanceof Promise ? await bytes : bytes));
  }
  return messages;
}

const MESSAGE = { seq: whole, role: oneOf(ROLES), run: optional(text), key: optional(text), at: whole };
const STORED = { content: list, metadata: optional(plainObject) };

export function messageOf(row: MessageRow, bytes: Uint8Array): Message {
  const { session, agent } = row;
  const name = { kind: "message", session, seq: row.seq };
  const { seq, role, run, key, at } = decodeRow(name, row, MESSAGE);
  const { content: stored } = decodeRow(name, { content: bytes }, { content: jsonObject });
  const { content, metadata } = decodeRow(name, stored, STORED);
  return {
    id: `${session}#${seq}`,
    session,
    agent,
    seq,
    role,
    content: content as readonly ContentBlock[],
    at,
    ...(run === null ? {} : { run }),
    ...(key === null ? {} : { key }),
    ...(metadata === null ? {} : { metadata }),
    ref: toRef(row.sha256),
  };
}

/** The placeholder for erased content. */
const ERASED_TEXT = "[erased]";

/** The message with the placeholder for an erased one. The placeholder is in no blob. */
export function erasedMessage(row: MessageAtRow): Message {
  const { session, agent } = row;
  const { seq, role, run, at } = decodeRow({ kind: "message", session, seq: row.seq }, row, MESSAGE);
  return {
    id: rowId(session, seq),
    session,
    agent,
    seq,
    role,
    content: [{ type: "text", text: ERASED_TEXT }],
    at,
    ...(run === null ? {} : { run }),
    metadata: { erased: true },
    ref: "",
  };
}
