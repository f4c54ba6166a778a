// How long a program takes from `node` to its first durable append, and the command to an answer. Every sample is a separate
// process on the built package; the baselines are Node's own SQLite with one table, and a Node that does nothing.
import { spawnSync } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import * as path from "node:path";
import { bundle } from "../../scripts/bundle.ts";
import { PRAGMAS } from "../foundation/floor.ts";
import { alternate, compare } from "../measure.ts";
import type { Bench } from "../suite.ts";

const ROUNDS = 21;
const MOST = 2.5;
const root = path.resolve(import.meta.dirname, "../..");

const APPEND = `
import { open } from "./package/dist/index.js";
const hf = await open(process.argv[2]);
await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hello" });
await hf.close();`;

const ROW = `
import { DatabaseSync } from "node:sqlite";
const db = new DatabaseSync(process.argv[2]);
db.exec("PRAGMA journal_mode = WAL");
for (const pragma of ${JSON.stringify(PRAGMAS)}) db.exec("PRAGMA " + pragma);
db.exec("CREATE TABLE IF NOT EXISTS messages (session TEXT, seq INTEGER, role TEXT, content TEXT, PRIMARY KEY (session, seq))");
db.exec("BEGIN IMMEDIATE");
const next = "SELECT ?, coalesce(max(seq), 0) + 1, ?, ? FROM messages WHERE session = ?";
db.prepare("INSERT INTO messages " + next).run("s", "user", "hello", "s");
db.exec("COMMIT");
db.close();`;

export function start(): Bench {
  const metrics = ["start.append", "start.append.fresh", "start.cli"];
  return {
    metrics,
    async run(setting) {
      const folder = path.join(setting.folder, "start");
      await prepare(folder);
      const time = timerIn(folder);
      const fresh = async (program: string) => {
        for (const end of ["", "-wal", "-shm"]) await rm(path.join(folder, `fresh.db${end}`), { force: true });
        return time([program, "fresh.db"]);
      };
      time(["append.mjs", "ours.db"]);
      time(["row.mjs", "bare.db"]);
      const [append = [], row = [], freshAppend = [], freshRow = [], sessions = [], nothing = []] = await alternate(
        ROUNDS,
        [
          () => time(["append.mjs", "ours.db"]),
          () => time(["row.mjs", "bare.db"]),
          () => fresh("append.mjs"),
          () => fresh("row.mjs"),
          () => time(["package/bin/holdfast.js", "sessions", "--store", "ours.db"]),
          () => time(["-e", "0"]),
        ],
      );
      const targets = [{ of: "ratio", must: "atMost", limit: MOST }] as const;
      const rows = "baseline: node:sqlite, one row into one table with the same pragmas";
      return [
        {
          metric: "start.append",
          unit: "ms",
          ...compare(append, row),
          targets,
          note: `to a store that is there; ${rows}`,
        },
        { metric: "start.append.fresh", unit: "ms", ...compare(freshAppend, freshRow), note: `to a new file; ${rows}` },
        {
          metric: "start.cli",
          unit: "ms",
          ...compare(sessions, nothing),
          targets,
          note: "holdfast sessions; baseline: node -e 0",
        },
      ];
    },
  };
}

/** The published package without its types. */
async function prepare(folder: string): Promise<void> {
  const installed = path.join(folder, "package");
  await mkdir(installed, { recursive: true });
  await bundle(path.join(installed, "dist"));
  await cp(path.join(root, "bin"), path.join(installed, "bin"), { recursive: true });
  await cp(path.join(root, "package.json"), path.join(installed, "package.json"));
  await writeFile(path.join(folder, "append.mjs"), APPEND);
  await writeFile(path.join(folder, "row.mjs"), ROW);
}

function timerIn(folder: string): (argv: readonly string[]) => number {
  const env = { PATH: process.env.PATH ?? "", HOME: folder, XDG_CACHE_HOME: path.join(folder, "cache") };
  return (argv) => {
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, argv, { cwd: folder, env, encoding: "utf8" });
    const ms = performance.now() - began;
    if (status !== 0) throw new Error(`node ${argv.join(" ")} ended with ${status}: ${stderr}`);
    return ms;
  };
}
