// A store's file with some of its bits changed: what the library says of it, and whether any row is another than before.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CheckIssue } from "../../src/contracts/check.ts";
import { HoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { TABLES } from "../../src/contracts/rows.ts";
import { open } from "../../src/open.ts";
import { fillStore } from "../../src/testing/everything.ts";
import { fillRuns } from "../../src/testing/everything-runs.ts";

const BESIDE = ["counters", "holdfast_meta", "remains"] as const;

export interface Flip {
  readonly at: number;
  readonly bit: number;
}

/** refused: open() said so. named: check() did. silent: neither; `changed` are the columns that differ. */
export type Verdict =
  | { readonly outcome: "refused"; readonly error: HoldfastError }
  | { readonly outcome: "named"; readonly issues: readonly CheckIssue[] }
  | { readonly outcome: "silent"; readonly changed: readonly string[] };

/** Every cell of every table, read from the tables and from no index; and the entries of every index. */
type Cells = ReadonlyMap<string, string>;

export class DamagedFile {
  readonly path: string;
  readonly #directory: string;
  readonly bytes: Buffer;
  readonly #before: Cells;
  readonly #readings: string;

  private constructor(directory: string, path: string, readings: string) {
    this.#directory = directory;
    this.path = path;
    this.bytes = readFileSync(path);
    this.#before = cellsOf(path);
    this.#readings = readings;
  }

  static async fill(): Promise<DamagedFile> {
    const directory = mkdtempSync(join(tmpdir(), "holdfast-flips-"));
    const path = join(directory, "store.db");
    const hf = await open(path, { durability: "normal" });
    await fillStore({ ...hf, lineage: hf });
    await fillRuns(hf.runs);
    await hf.agents.update("ada", { tags: ["one"], metadata: { of: "ada" } });
    const readings = await readAll(hf);
    await hf.close();
    return new DamagedFile(directory, path, readings);
  }

  /** Writes the file with these bits changed, without a WAL. */
  write(flips: readonly Flip[] = []): void {
    for (const end of ["-wal", "-shm"]) rmSync(`${this.path}${end}`, { force: true });
    const bytes = Buffer.from(this.bytes);
    for (const { at, bit } of flips) bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
    writeFileSync(this.path, bytes);
  }

  async judge(flip: Flip): Promise<Verdict> {
    this.write([flip]);
    let hf: Holdfast;
    try {
      hf = await open(this.path, { durability: "normal", create: false });
    } catch (error) {
      if (error instanceof HoldfastError) return { outcome: "refused", error };
      throw error;
    }
    let readings: string;
    try {
      const { status, issues } = await hf.check();
      if (status === "issues") return { outcome: "named", issues };
      readings = await readAll(hf);
    } finally {
      await hf.close();
    }
    this.write([flip]);
    const changed = this.#compare();
    // What the library answers may differ only where a row does.
    if (changed.length === 0 && readings !== this.#readings) return { outcome: "silent", changed: ["readings"] };
    return { outcome: "silent", changed };
  }

  #compare(): readonly string[] {
    const after = cellsOf(this.path);
    const keys = new Set([...this.#before.keys(), ...after.keys()]);
    const changed = [...keys].filter((key) => this.#before.get(key) !== after.get(key));
    return [...new Set(changed.map((key) => key.split(" ")[0] ?? ""))];
  }

  end(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function cellsOf(path: string): Cells {
  const db = new DatabaseSync(path, { readOnly: true });
  const cells = new Map<string, string>();
  try {
    for (const table of [...Object.keys(TABLES), ...BESIDE]) {
      const statement = db.prepare(`SELECT rowid AS row_number, * FROM ${table} NOT INDEXED ORDER BY rowid`);
      statement.setReadBigInts(true);
      for (const row of statement.all()) {
        for (const [column, value] of Object.entries(row)) {
          const text = value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value);
          cells.set(`${table}.${column} ${row.row_number}`, text);
        }
      }
    }
    for (const index of db.prepare("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index'").all()) {
      const entries = JSON.stringify(entriesOf(db, index), (_, value) =>
        typeof value === "bigint" ? `${value}` : value,
      );
      cells.set(`index.${index.name} `, entries);
    }
    return cells;
  } finally {
    db.close();
  }
}

/** What an index holds, read from it alone. */
function entriesOf(db: DatabaseSync, { name, tbl_name, sql }: Readonly<Record<string, unknown>>): readonly unknown[] {
  const columns = db
    .prepare(`SELECT name FROM pragma_index_info('${name}')`)
    .all()
    .map((column) => column.name);
  const where = /\bWHERE\b[\s\S]*$/i.exec(String(sql ?? ""))?.[0] ?? "";
  const list = columns.join(", ");
  const statement = db.prepare(`SELECT ${list}, rowid FROM ${tbl_name} INDEXED BY ${name} ${where} ORDER BY ${list}`);
  statement.setReadBigInts(true);
  return statement.all();
}

/** What the verbs answer, in one text. */
async function readAll(hf: Holdfast): Promise<string> {
  const { items } = await hf.sessions.list({ limit: 100 });
  const sessions = [];
  for (const { id } of items) {
    sessions.push([
      await hf.sessions.get(id),
      await hf.history.session(id),
      await hf.state.get(id),
      await hf.log.read(id),
      await hf.heads.list(id),
    ]);
  }
  const agents = await hf.agents.list();
  const blocks = await hf.agents.loadBlocks("ada");
  const blobs = (await hf.blobs.list({ limit: 1000 })).items.map(({ ref, size, references }) => [
    ref,
    size,
    references,
  ]);
  return JSON.stringify([sessions, agents, blocks, blobs, await hf.runs.list()]);
}
