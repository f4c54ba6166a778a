// Documents of collections as the worker embeds them: those without an embedding in collections of the store's embedder, and all of a
// collection whose embeddings are of an embedder that the store has left.
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { addFieldWrites, removeItemsFieldsWrite } from "../core/metadata-index.ts";
import { addItemWrite, removeItemsWrites } from "../search/index/item-source.ts";
import { type CollectionState, DOCUMENTS } from "../vectors/collections.ts";
import { readDocument, type StoredDocument } from "../vectors/documents.ts";
import { passageKindOf } from "../vectors/reserved.ts";
import { changeCommit, type ItemTable, type SourceContext } from "./item-table.ts";
import { nextPendingStep } from "./pending.ts";
import { type BuildProgress, nextRebuildStep } from "./rebuild.ts";
import type { EmbeddingSource, TextItem } from "./source.ts";

type DocumentReads = { readonly storage: Storage; readonly payloads: Payloads };

export function documentSource(reads: DocumentReads, of: Omit<SourceContext, "items" | "storage">): EmbeddingSource {
  const context: SourceContext = { ...of, storage: reads.storage, items: documentTable(reads) };
  const progress: BuildProgress = new Map();
  return {
    kind: "documents",
    next: async (limit) => {
      const step = await nextPendingStep(context, limit);
      return step === "idle" ? nextRebuildStep(context, progress, limit) : step;
    },
  };
}

function documentTable(reads: DocumentReads): ItemTable {
  return {
    kind: "documents",
    table: "documents",
    precision: "f32",
    has: (collection) => passageKindOf(collection) === null,
    readTexts: async (state, items) => (await readDocuments(reads, state, items)).map(textItem),
    findItems: async (state, items) =>
      (await readDocuments(reads, state, items)).map(({ item, metadata }) => {
        const scope = { kind: DOCUMENTS, scope: state.no };
        const moveWrites = (to: number) => [
          removeItemsFieldsWrite(scope, [item]),
          ...addFieldWrites(scope, to, metadata),
        ];
        return { item, moveWrites };
      }),
    // The text index knows documents by their items.
    indexWrites: ({ no: group }, moved) => [
      ...removeItemsWrites(DOCUMENTS, group, [...moved.keys()]),
      ...[...moved.values()].map((item) => addItemWrite(DOCUMENTS, { group, item })),
    ],
    skipCommit: (state, items) => {
      const params = { collection: state.no, items: JSON.stringify(items) };
      return changeCommit(state, [{ op: "run", statement: "documents.needNone", params }]);
    },
  };
}

async function readDocuments(
  { storage, payloads }: DocumentReads,
  { no: collection, name }: CollectionState,
  items: readonly number[],
): Promise<readonly StoredDocument[]> {
  const rows = await storage.query("documents.byItems", { collection, items: JSON.stringify(items) });
  const documents: StoredDocument[] = [];
  for (const row of rows) documents.push(await readDocument(payloads, name, row));
  return documents;
}

/** The texts of a document's blocks, which is all that an embedder of texts can embed of it. */
function textItem({ item, content }: StoredDocument): TextItem {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return { item, text: text.toWellFormed() };
}
