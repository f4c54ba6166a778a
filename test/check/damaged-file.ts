// A store's file with some of its bits changed: what the library says of it, and whether any row is another than before.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CheckIssue } from "../../src/contracts/check.ts";
import { HoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { TABLES } from "../../src/contracts/storage/tables.ts";
import { open } from "../../src/open.ts";
import { fillStore } from "../../src/testing/everything.ts";
import { fillRuns } from "../../src/testing/everything-runs.ts";
import { type Readings, readAll } from "./readings.ts";

const BESIDE = ["counters", "holdfast_meta", "remains"] as const;

export interface Flip {
  readonly at: number;
  readonly bit: number;
}

/**
 * refused: open() said so. named: check() did. unaffected: neither did, and every read of every verb gives what it gave
 * before. silent: some read gives something else. `changed` are the columns and the readings that differ.
 */
export type Verdict =
  | { readonly outcome: "refused"; readonly error: HoldfastError }
  | { readonly outcome: "named"; readonly issues: readonly CheckIssue[] }
  | { readonly outcome: "unaffected" | "silent"; readonly changed: readonly string[] };

/** Every cell of every table, read from the tables and from no index; and the entries of every index. */
type Cells = ReadonlyMap<string, string>;

export class DamagedFile {
  readonly path: string;
  readonly #directory: string;
  readonly bytes: Buffer;
  readonly #before: Cells;
  readonly #readings: Readings;

  private constructor(directory: string, path: string, readings: Readings) {
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
    await fillMore(hf);
    await hf.close();
    // As a store that is opened again answers, because that is what the damaged one is compared with.
    const again = await open(path, { durability: "normal", create: false });
    const readings = await readAll(again);
    await again.close();
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
    let different: readonly string[];
    try {
      const { status, issues } = await hf.check();
      if (status === "issues") return { outcome: "named", issues };
      different = await this.#reread(hf);
    } finally {
      await hf.close();
    }
    this.write([flip]);
    return { outcome: different.length === 0 ? "unaffected" : "silent", changed: [...different, ...this.#compare()] };
  }

  /** The readings that are not what they were. */
  async #reread(hf: Holdfast): Promise<readonly string[]> {
    let readings: Readings;
    try {
      readings = await readAll(hf);
    } catch (error) {
      return [String(error)];
    }
    const names = new Set([...Object.keys(this.#readings), ...Object.keys(readings)]);
    return [...names].filter((name) => readings[name] !== this.#readings[name]);
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

/** What the filled store of all suites has not: attachments of a coding agent, and all that an agent can have. */
async function fillMore(hf: Holdfast): Promise<void> {
  await hf.agents.create({ id: "carl", name: "Carl", model: "m-1", system: "Be brief.", toolIds: ["search"] });
  await hf.agents.shareBlock("ada", "facts", "carl");
  await hf.sessions.create({ id: "told", title: "A title", metadata: { a: "text of some length" }, tags: ["t"] });
  await hf.sessions.setAlias("told", "a-name");
  await hf.sessions.setAlias("told", "another-name");
  const sessionId = "6ba7b810-9dad-41d1-80b4-00c04fd430c8";
  const content = Buffer.from('{"type":"user"}\n'.repeat(100));
  await hf.captures.save({
    request: "request-3",
    agent: "claude-code",
    cwd: "/work",
    configDir: "/home/.claude",
    agentVersion: "2.1",
    sessionId,
    ttlMs: null,
    files: [{ role: "transcript", path: `project/${sessionId}.jsonl`, content }],
  });
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
