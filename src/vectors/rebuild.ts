// Makes again what is derived from documents and embeddings: the index of metadata and the pages of codes. Searches go on meanwhile; they
// compare exactly what is not packed yet.

import { HoldfastError } from "../contracts/errors.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { addFieldWrites, removeItemsFieldsWrite } from "../core/metadata-index.ts";
import { collectionGuards, DOCUMENTS, readCollection } from "./collections.ts";
import { readDocument } from "./documents.ts";
import { stateWrites, type VectorContext } from "./write.ts";

const DOCUMENTS_AT_ONCE = 200;

/** Returns how many documents the collection has. The packer makes the pages. */
export async function rebuildCollection(context: VectorContext, name: string): Promise<number> {
  await removePages(context, name);
  let count = 0;
  for (let after: number | null = 0; after !== null; ) {
    const indexed: IndexedDocuments = await indexDocuments(context, name, after);
    count += indexed.count;
    after = indexed.last;
  }
  return count;
}

function removePages({ storage, queue }: VectorContext, name: string): Promise<null> {
  return queue.run(name, () =>
    decide<null>(storage, async () => {
      const state = await readCollection(storage, name);
      if (state === null) {
        throw new HoldfastError("NotFound", `there is no collection ${JSON.stringify(name)}`, {
          details: { kind: "collection", id: name },
          hint: "vectors.listCollections() lists the collections.",
        });
      }
      const current = state.current === null ? null : { ...state.current, packed: 0 };
      const params = { collection: state.no };
      const commit: Commit = {
        guards: collectionGuards(state, false),
        writes: [
          { op: "run", statement: "vectors.removePages", params },
          { op: "run", statement: "metadata.removeStrays", params: { kind: DOCUMENTS, scope: state.no } },
          ...stateWrites({ ...state, change: state.change + 1, current }),
        ],
      };
      return { commit, answer: () => null };
    }),
  );
}

interface IndexedDocuments {
  readonly count: number;
  /** null: there are no later documents. */
  readonly last: number | null;
}

function indexDocuments(
  { storage, payloads, queue }: VectorContext,
  name: string,
  after: number,
): Promise<IndexedDocuments> {
  return queue.run(name, () =>
    decide<IndexedDocuments>(storage, async (): Promise<Decision<IndexedDocuments> | FinalAnswer<IndexedDocuments>> => {
      const state = await readCollection(storage, name);
      const nothing = { answer: { count: 0, last: null } };
      if (state === null) return nothing;
      const { no: collection } = state;
      const rows = await storage.query("documents.after", { collection, after, limit: DOCUMENTS_AT_ONCE });
      const last = rows.at(-1);
      if (last === undefined) return nothing;
      const scope = { kind: DOCUMENTS, scope: collection };
      const documents = await Promise.all(rows.map((row) => readDocument(payloads, name, row)));
      const commit: Commit = {
        guards: collectionGuards(state, false),
        writes: [
          removeItemsFieldsWrite(
            scope,
            rows.map(({ item }) => item),
          ),
          ...documents.flatMap(({ item, metadata }) => addFieldWrites(scope, item, metadata)),
        ],
      };
      const answer = { count: rows.length, last: rows.length < DOCUMENTS_AT_ONCE ? null : last.item };
      return { commit, answer: () => answer };
    }),
  );
}
