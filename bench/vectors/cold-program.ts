// A process that opens a store and searches once, for memory.cold: `node cold-program.ts FILE` with the embedding as JSON on standard input
// prints the milliseconds from before it opens the store to its first result, and those of a second search.
import { execFile } from "node:child_process";
import { text } from "node:stream/consumers";

export interface ColdSearch {
  readonly firstMs: number;
  readonly secondMs: number;
}

/** Runs it in a process of its own. */
export function runCold(file: string, query: Float32Array): Promise<ColdSearch> {
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [import.meta.filename, file], (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as ColdSearch);
      else reject(error);
    });
    child.stdin?.end(JSON.stringify(Array.from(query)));
  });
}

if (import.meta.main) {
  const query = JSON.parse(await text(process.stdin)) as readonly number[];
  // The code is loaded first: what is published is a bundle, and here the sources are compiled one by one.
  const { open } = await import("../../src/index.ts");
  const other = await open(":memory:");
  await other.vectors.add([{ content: "", embedding: query }]);
  await other.vectors.search(query);
  await other.close();
  const started = performance.now();
  const hf = await open(process.argv[2] ?? "", { durability: "normal" });
  const found = await hf.vectors.search(query, { limit: 10 });
  const firstMs = performance.now() - started;
  const again = performance.now();
  await hf.vectors.search(query, { limit: 10 });
  const secondMs = performance.now() - again;
  await hf.close();
  if (found.length !== 10) throw new Error(`found ${found.length}`);
  process.stdout.write(JSON.stringify({ firstMs, secondMs }));
}
