// The text index of documents: an item for each, in the group of its collection. What is indexed of a document never changes under its
// item's number.
import { HoldfastError } from "../../contracts/errors.ts";
import type { ContentBlock } from "../../contracts/messages.ts";
import type { Payloads } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { DocumentRow } from "../../contracts/storage/vector-queries.ts";
import { decodeRow, jsonObject, list, oneOf, optional, withBlob } from "../../core/decode.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "../text/stem.ts";
import type { ItemRef } from "./item-source.ts";
import { messageText } from "./message-item.ts";
import { fieldTerm } from "./reader.ts";
import { type MessageIndexOptions, textIndexOf } from "./snapshot.ts";
import type { TextIndex } from "./text-index.ts";
import type { IndexItem } from "./units.ts";

export function documentIndex(storage: Storage, { payloads, ...options }: MessageIndexOptions): TextIndex {
  const readItems = (items: readonly ItemRef[]) => readTexts(storage, payloads, items);
  return textIndexOf(storage, "documents", { readItems, isImmutable: true, ...options });
}

/** What a document says: its texts, and what describes attachments. */
export function documentText(content: readonly ContentBlock[]): string {
  return messageText(content);
}

/** The field by which a search tells documents with a language of their own. */
export const LANGUAGE_FIELD = "language";

type Reader = Pick<Payloads, "read">;

async function readTexts(storage: Storage, payloads: Reader, items: readonly ItemRef[]): Promise<readonly IndexItem[]> {
  const found: IndexItem[] = [];
  for (const [collection, refs] of Map.groupBy(items, ({ group }) => group)) {
    const numbers = JSON.stringify(refs.map(({ item }) => item));
    for (const row of await storage.query("documents.byItems", { collection, items: numbers })) {
      const read = await readText(storage, payloads, collection, row);
      if (read === null) continue;
      const { text, language } = read;
      const own = language === null ? { fields: [] } : { language, fields: [fieldTerm(LANGUAGE_FIELD, language)] };
      found.push({ group: collection, item: row.item, at: 0, flags: 0, text, ...own });
    }
  }
  return found;
}

const DAMAGE = ["BlobCorrupted", "BlobNotFound", "StoreCorrupted"];

const TEXT = { content: list, language: optional(oneOf(TEXT_LANGUAGES)) };

interface DocumentText {
  readonly text: string;
  /** null: that of the index. */
  readonly language: TextLanguage | null;
}

/** null: it cannot be read. The checker reports the damage; the others are found meanwhile. */
async function readText(
  storage: Storage,
  payloads: Reader,
  collection: number,
  row: DocumentRow,
): Promise<DocumentText | null> {
  const name = { kind: "document", collection: String(collection), document: row.id };
  try {
    const bytes = row.words ?? (await payloads.read(withBlob(name, "content", row)));
    const { content } = decodeRow(name, { content: bytes }, { content: jsonObject });
    const { content: blocks, language } = decodeRow(name, content, TEXT);
    return { text: documentText(blocks as readonly ContentBlock[]), language };
  } catch (error) {
    if (!(error instanceof HoldfastError) || !DAMAGE.includes(error.code)) throw error;
    storage.environment.log("warn", "search.unreadable", { document: row.id, error: String(error) });
    return null;
  }
}
