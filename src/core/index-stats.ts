// How much the text index holds.
import type { Storage } from "../contracts/storage/storage.ts";
import { TEXT_LANGUAGES, type TextIndexStats } from "../contracts/text-index.ts";

export async function readTextIndexStats(storage: Storage): Promise<TextIndexStats> {
  const [row] = await storage.query("index.stats", { kind: "messages" });
  if (row === undefined) throw new Error("bug: the store has no index of messages");
  return { ...row, language: TEXT_LANGUAGES.find((one) => one === row.language) ?? null };
}
