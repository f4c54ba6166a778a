// The texts that passages are of, and how they are cut: in the same way as for the text index.

import { HoldfastError } from "../contracts/errors.ts";
import type { MemoryTextRow } from "../contracts/storage/memory-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import type { InterruptibleWork } from "../core/time-slice.ts";
import { messageOf, readContent } from "../history/messages.ts";
import { memoryIndex } from "../search/index/memory-index.ts";
import { memoryItem } from "../search/index/memory-item.ts";
import { messageText } from "../search/index/message-item.ts";
import { textIndexOf } from "../search/index/snapshot.ts";
import { readPassages } from "../search/index/units.ts";

export interface PassageTexts {
  readonly storage: Storage;
  readLanguage(): Promise<TextLanguage>;
  /** The text of a message by session and seq, or of a memory by scope and number. null: it is gone, or cannot be read. */
  readText(group: number, number: number): Promise<string | null>;
}

export interface PassageText {
  readonly part: number;
  readonly text: string;
}

/** The passages of a text up to `last` that have a word. */
export function* passagesOf(
  text: string,
  language: TextLanguage,
  last = Number.POSITIVE_INFINITY,
): InterruptibleWork<readonly PassageText[]> {
  const found: PassageText[] = [];
  for (const { part, start, end } of readPassages(text, language)) {
    if (part > last) break;
    const passage = text.slice(start, end).trim().toWellFormed();
    if (passage !== "") found.push({ part, text: passage });
    yield;
  }
  return found;
}

/** `language`: of a store without an index; see MessageIndexOptions. */
export function messageTexts(storage: Storage, payloads: Payloads, language: TextLanguage): PassageTexts {
  const index = textIndexOf(storage, "messages", { payloads, language });
  return {
    storage,
    readLanguage: () => index.readLanguage(),
    readText: async (session, seq) => {
      const [row] = await storage.query("history.messages", { messages: JSON.stringify([[session, seq]]) });
      if (row === undefined) return null;
      try {
        return messageText(messageOf(row, await readContent(row, payloads)).content);
      } catch (error) {
        // The checker reports the damage. There is nothing to embed, as there is nothing to index.
        if (!(error instanceof HoldfastError) || !DAMAGE.includes(error.code)) throw error;
        return null;
      }
    },
  };
}

const DAMAGE = ["BlobCorrupted", "BlobNotFound", "StoreCorrupted"];

export function memoryTexts(storage: Storage, language: TextLanguage): PassageTexts {
  return {
    storage,
    readLanguage: () => memoryIndex(storage, language).readLanguage(),
    readText: async (scope, no) => {
      const [row] = await storage.query("memories.texts", { scope, items: JSON.stringify([no]) });
      return row === undefined ? null : memoryTextOf(row);
    },
  };
}

export function memoryTextOf(row: MemoryTextRow): string {
  return memoryItem(row).text;
}
