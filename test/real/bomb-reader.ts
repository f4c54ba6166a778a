// A process that is handed one bomb after the other, in every way there is, and tells how much memory that took. Arguments: the file
// of a store, and a folder of bombs, each named by its number and its kind.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { readSessionInput } from "../../src/cli/captures/session-input.ts";
import { main, processIo } from "../../src/cli/main.ts";
import { captureOutput } from "../../src/cli/output-capture.ts";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { type Bomb, SESSION } from "./bombs.ts";

const [url = "", folder = ""] = process.argv.slice(2);
const cwd = path.join(path.dirname(url), "cwd");
const home = path.join(path.dirname(url), "home");
for (const directory of [cwd, home]) mkdirSync(directory);
const env = { CLAUDE_CONFIG_DIR: home, AGENT_SESSION_ID: SESSION };

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "done";
  } catch (error) {
    return isHoldfastError(error) ? error.code : String(error);
  }
}

async function outcomesOf(store: Holdfast, kind: Bomb["kind"], bytes: Uint8Array): Promise<readonly string[]> {
  if (kind === "archive") return [await codeOf(() => store.sessions.import(bytes))];
  const blob = Buffer.from(bytes).toString("base64");
  const restored = await captureOutput(
    main,
    ["restore", "--from", `base64:${blob}`, "--session-id", SESSION, "--cwd", cwd, "--json"],
    { cwd, env },
  );
  // Before an agent starts; what is wrong with it does not stop the agent.
  const begun = await readSessionInput(processIo({ cwd, env: { ...env, AGENT_SESSION_BLOB: blob } }), {
    from: undefined,
    out: undefined,
    hasStore: false,
  });
  const saved = kind === "bundle" ? [await codeOf(() => store.captures.putBundle(bytes, { request: "r" }))] : [];
  const restoredCode = restored.code === 0 ? "done" : String(JSON.parse(restored.stderr).code);
  return [restoredCode, begun.source === null ? "refused" : "taken", ...saved];
}

const store = await open(url);
const outcomes: Record<string, readonly string[]> = {};
for (const name of readdirSync(folder)) {
  const kind = path.extname(name).slice(1) as Bomb["kind"];
  outcomes[name] = await outcomesOf(store, kind, readFileSync(path.join(folder, name)));
}
const stats = await store.stats();
const left = {
  home: readdirSync(home),
  sessions: stats.nouns.sessions?.rows ?? 0,
  captures: stats.nouns.captures?.rows ?? 0,
};
await store.close();
console.log(JSON.stringify({ outcomes, left, maxRssMb: process.resourceUsage().maxRSS / 1024 }));
