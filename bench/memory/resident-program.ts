// A process that opens a store of messages and one of vectors and searches both, for search.memory: `node --expose-gc resident-program.ts
// MESSAGES VECTORS` with the queries as JSON on standard input prints by how many bytes its resident memory has grown.
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";

export interface ResidentQueries {
  readonly texts: readonly string[];
  readonly embeddings: readonly (readonly number[])[];
}

/** The files of the stores. */
export interface ResidentStores {
  readonly messages: string;
  readonly vectors: string;
}

/** Runs it in a process of its own. */
export function measureResident({ messages, vectors }: ResidentStores, queries: ResidentQueries): Promise<number> {
  return new Promise((resolve, reject) => {
    const program = ["--expose-gc", import.meta.filename, messages, vectors];
    const child = execFile(process.execPath, program, (error, stdout) => {
      if (error === null) resolve(Number(stdout));
      else reject(error);
    });
    child.stdin?.end(JSON.stringify(queries));
  });
}

/** What is garbage says nothing of what is kept. */
function residentBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

if (import.meta.main) {
  const { texts, embeddings } = JSON.parse(await text(process.stdin)) as ResidentQueries;
  const { open } = await import("../../src/index.ts");
  const [messagesFile = "", vectorsFile = ""] = process.argv.slice(2);
  // The code is loaded and compiled first, by the same searches in small stores.
  const small = await open(":memory:");
  await small.history.append({ session: "s", agent: "a" }, { role: "user", content: texts.join(" ") });
  await small.vectors.add(embeddings.map((embedding) => ({ content: "", embedding })));
  for (const query of texts) await small.search(query);
  for (const query of embeddings) await small.vectors.search(query);
  const before = residentBytes();
  const messages = await open(messagesFile, { durability: "normal" });
  const vectors = await open(vectorsFile, { durability: "normal" });
  for (const _ of ["first", "again"]) {
    for (const query of texts) await messages.search(query, { limit: 10 });
    for (const query of embeddings) await vectors.vectors.search(query, { limit: 10 });
  }
  process.stdout.write(String(residentBytes() - before));
  for (const store of [small, messages, vectors]) await store.close();
}
