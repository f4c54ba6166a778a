// Captures a session of Claude Code and restores it in another home; prints the files of src that ran code for `holdfast restore`.
import { mkdirSync } from "node:fs";
import * as path from "node:path";
import { main } from "../../src/cli/main.ts";
import { projectKey } from "../../src/coding/claude/session-files.ts";
import { newFolder, SESSION, writeRichSession } from "../coding/claude-tree.ts";
import { executedFiles } from "./executed-files.ts";

const [, , store = ""] = process.argv;
const root = newFolder();
const work = path.join(root, "work");
mkdirSync(work);

async function holdfast(home: string, ...argv: string[]): Promise<void> {
  const silent = {
    write(_: unknown, done: () => void) {
      done();
      return true;
    },
    on() {},
  };
  const env = { HOME: path.join(root, home), HOLDFAST_STORE: store };
  const code = await main(argv, { cwd: work, env, stdout: silent, stderr: silent });
  if (code !== 0) throw new Error(`holdfast ${argv.join(" ")} ended with ${code}`);
}

writeRichSession({ configDir: path.join(root, "first", ".claude"), key: projectKey(work) }, work);
for (const home of ["second", "third"]) mkdirSync(path.join(root, home), { recursive: true });
await holdfast("first", "capture", "--session-id", SESSION, "--request", "fix-42");
// The first restore in a process also loads code and writes the texts of statements.
await holdfast("second", "restore", "--request", "fix-42");
console.log(JSON.stringify(await executedFiles(() => holdfast("third", "restore", "--request", "fix-42"))));
