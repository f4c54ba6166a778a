// What searches and writes are compared with: sqlite-vec, where it is installed (npm install --no-save sqlite-vec@0.1.6; it is no
// dependency, because its package names an optional one that does not exist). Otherwise embeddings in a plain table, and a comparison with
// all of them in memory, which takes about as long as sqlite-vec's scan.
import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { normOf } from "../../src/vectors/kernel/vector.ts";

export interface ExactPeer {
  readonly name: string;
  /** Finds the ten nearest by comparing with all. */
  scan(query: Float32Array): void;
  /** Writes embeddings, so many a commit. The first call's embeddings are those that are scanned. */
  write(vectors: readonly Float32Array[], atOnce: number): void;
  close(): void;
}

export function openPeer(file: string, dimension: number): ExactPeer {
  const extension = findExtension();
  const db = new DatabaseSync(file, { allowExtension: extension !== null });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -262144");
  return extension === null ? plainPeer(db) : sqliteVec(db, extension, dimension);
}

function findExtension(): string | null {
  try {
    const loaded: { getLoadablePath(): string } = createRequire(import.meta.url)("sqlite-vec");
    return loaded.getLoadablePath();
  } catch {
    return null;
  }
}

function writeRows(db: DatabaseSync, table: string, vectors: readonly Float32Array[], atOnce: number): void {
  db.exec(`DELETE FROM ${table} WHERE rowid <= ${vectors.length}`);
  const insert = db.prepare(`INSERT INTO ${table} (rowid, embedding) VALUES (?, ?)`);
  for (let from = 0; from < vectors.length; from += atOnce) {
    db.exec("BEGIN");
    for (const [i, vector] of vectors.slice(from, from + atOnce).entries()) {
      insert.run(BigInt(from + i + 1), new Uint8Array(vector.buffer));
    }
    db.exec("COMMIT");
  }
}

function sqliteVec(db: DatabaseSync, extension: string, dimension: number): ExactPeer {
  db.loadExtension(extension);
  db.exec(`CREATE VIRTUAL TABLE v USING vec0(embedding float[${dimension}] distance_metric=cosine)`);
  const select = db.prepare("SELECT rowid, distance FROM v WHERE embedding MATCH ? AND k = 10 ORDER BY distance");
  return {
    name: "sqlite-vec",
    scan: (query) => void select.all(new Uint8Array(query.buffer)),
    write: (vectors, atOnce) => writeRows(db, "v", vectors, atOnce),
    close: () => db.close(),
  };
}

function plainPeer(db: DatabaseSync): ExactPeer {
  db.exec("CREATE TABLE v (embedding BLOB NOT NULL) STRICT");
  let all: readonly Float32Array[] = [];
  let norms: readonly number[] = [];
  return {
    name: "an exact scan in memory (sqlite-vec is not installed)",
    scan: (query) => {
      const scores = Float64Array.from(all, (vector, i) => {
        let product = 0;
        for (let k = 0; k < query.length; k++) product += (vector[k] as number) * (query[k] as number);
        return product / (norms[i] as number);
      });
      scores.sort();
    },
    write: (vectors, atOnce) => {
      if (all.length === 0) [all, norms] = [vectors, vectors.map(normOf)];
      writeRows(db, "v", vectors, atOnce);
    },
    close: () => db.close(),
  };
}
