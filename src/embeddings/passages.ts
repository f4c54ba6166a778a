// Messages and memories as sources of the worker: they are cut into passages, and the passages are embedded as documents are.
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import type { PassageKind } from "../vectors/reserved.ts";
import { cutMemories, cutMessages } from "./cut-passages.ts";
import type { SourceContext } from "./item-table.ts";
import { passageTable } from "./passage-table.ts";
import { memoryTexts, messageTexts, type PassageTexts } from "./passage-texts.ts";
import { nextPendingStep } from "./pending.ts";
import { type BuildProgress, nextRebuildStep } from "./rebuild.ts";
import type { EmbeddingSource } from "./source.ts";

type EmbedderOfSource = Omit<SourceContext, "items" | "storage">;

export function memorySource(storage: Storage, language: TextLanguage, of: EmbedderOfSource): EmbeddingSource {
  const texts = memoryTexts(storage, language);
  return passageSource("memories", texts, of, () => cutMemories(storage, texts));
}

export function messageSource(
  storage: Storage,
  payloads: Payloads,
  language: TextLanguage,
  of: EmbedderOfSource,
): EmbeddingSource {
  const texts = messageTexts(storage, payloads, language);
  return passageSource("messages", texts, of, () => cutMessages({ storage, payloads, language, texts }));
}

function passageSource(
  kind: PassageKind,
  texts: PassageTexts,
  of: EmbedderOfSource,
  cut: () => Promise<"done" | "idle">,
): EmbeddingSource {
  const context: SourceContext = { ...of, storage: texts.storage, items: passageTable(kind, texts) };
  const progress: BuildProgress = new Map();
  return {
    kind,
    next: async (limit) => {
      const step = await nextPendingStep(context, limit);
      if (step !== "idle") return step;
      if ((await cut()) === "done") return "done";
      return nextRebuildStep(context, progress, limit);
    },
  };
}
