// A session of Claude Code goes on after every kind of change: of version, directory, home, user and engine, and after every signal.
// `npm test` runs one of each kind with the version that is installed; `npm run test:long` installs the older versions and runs
// every pair of them.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agentAt } from "../../scripts/agents.ts";
import { scaled } from "../../src/testing/scale.ts";
import { withAgents } from "./agents.ts";
import { type EngineName, eventually, newStore, runClaude, savedTranscript, withStore } from "./holdfast.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { linkOrCopy, NOBODY, ownedBy, troubleAs } from "./other-user.ts";
import { call } from "./rich.ts";

const NEWEST = "2.1.325";
const VERSIONS = ["2.0.77", "2.1.141", NEWEST] as const;
const ENGINES = ["sqlite", "postgres"] as const;

interface Case {
  readonly engine: EngineName;
  readonly from: string;
  readonly to: string;
  /** What is different for the second machine. */
  readonly change: "version" | "path" | "home" | "user";
  /** What the first one is sent in the middle of its turn; null: it ends by itself. */
  readonly signal: NodeJS.Signals | null;
}

const pairs = VERSIONS.flatMap((from) => VERSIONS.map((to) => ({ from, to })));

function* allCases(): Generator<Case> {
  for (const engine of ENGINES) {
    for (const pair of pairs) yield { ...pair, engine, change: "version", signal: null };
    for (const from of VERSIONS) {
      const same = { engine, from, to: from };
      yield { ...same, change: "path", signal: null };
      yield { ...same, change: "home", signal: null };
      // The older one is a script below root's own home.
      if (from !== "2.0.77") yield { ...same, change: "user", signal: null };
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const) {
        yield { ...same, change: "home", signal };
      }
    }
  }
}

const newest = { from: NEWEST, to: NEWEST };
const SHORT: readonly Case[] = [
  { ...newest, engine: "postgres", change: "user", signal: null },
  { ...newest, engine: "postgres", change: "path", signal: "SIGTERM" },
  { ...newest, engine: "sqlite", change: "home", signal: "SIGKILL" },
];
const cases = scaled({ short: SHORT, long: [...allCases()] });
const notAnother = troubleAs(NOBODY);

withAgents("Claude Code", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
    fs.chmodSync(machines.folder, 0o755);
  });
  afterAll(() => machines.remove());

  for (const [n, one] of cases.entries()) {
    const { engine, from, to, change, signal } = one;
    const name = `CA3 CA4 ${from} → ${to}, another ${change}, ${signal ?? "at its end"}, ${engine}`;
    const why = change === "user" ? notAnother : null;
    test.skipIf(why !== null)(why === null ? name : `${name} (skipped: ${why})`, async () => {
      const store = await newStore(machines, engine);
      const word = `CODEWORD-${100 + n}`;
      const cwd = change === "path" ? `first/${n}` : `same/${n}`;
      const first = machines.add({ cwd, ...(await program(from)) });
      await begin(first, { url: store.url, word, signal });
      const keepsHome = change === "path" || change === "version";
      await first.die();
      const second = machines.add({
        cwd: change === "path" ? `second/${n} ü` : cwd,
        ...(await program(to)),
        ...(keepsHome ? { home: first.home } : {}),
      });
      const prompt = `What was it? [[recall ${word}(-OUT)?]]`;
      const ran = await runClaude(second, { store: store.url, prompt, ...(await asUser(one, second)) }).ended;
      expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining("holdfast: resumed ") });
      expect(ran.stdout).toContain(`${word}-OUT`);
      await withStore(store.url, async (hf) => {
        const { items } = await hf.captures.list({ diverged: true });
        expect(items.map(({ diverged, agentVersion }) => [diverged, agentVersion])).toEqual([[false, to]]);
        expect(JSON.stringify(await hf.history.session(items[0]?.session ?? ""))).toContain(`${word}-OUT`);
      });
      await second.die();
      await store.remove();
    });
  }

  /** Only the long form installs one. */
  async function program(version: string): Promise<{ claude?: string }> {
    return version === NEWEST ? {} : { claude: await agentAt("claude", version) };
  }

  interface FirstTurn {
    readonly url: string;
    readonly word: string;
    readonly signal: NodeJS.Signals | null;
  }

  /** A turn with a tool call; with a signal, a second call is under way when that comes. */
  async function begin(machine: Machine, { url, word, signal }: FirstTurn): Promise<void> {
    const echo = call("Bash", { command: `echo ${word}-OUT`, description: "echo" });
    const marker = path.join(machine.cwd, "begun");
    const slow = call("Bash", { command: `touch '${marker}'; sleep 60`, description: "wait" });
    const prompt = `The word is ${word}. ${echo} ${signal === null ? "[[say noted]]" : slow}`;
    const running = runClaude(machine, { store: url, prompt, more: ["--every", "200ms"] });
    if (signal === null) {
      await running.done();
      return;
    }
    await running.until(() => fs.existsSync(marker));
    await eventually(async () => (await savedTranscript(url)).includes(`"command":"touch`), "a save in mid-turn");
    process.kill(running.pid, signal);
    if (signal !== "SIGKILL") expect((await running.ended).stderr).toContain("; saved ");
  }

  /** As a user that may use neither root's programs nor root's store. */
  async function asUser({ change, engine, to }: Case, machine: Machine) {
    if (change !== "user") return {};
    const bin = path.join(machine.home, "bin");
    fs.mkdirSync(bin);
    linkOrCopy((await program(to)).claude ?? agents.claude, path.join(bin, "claude"));
    for (const folder of [machine.home, machine.cwd]) ownedBy(NOBODY, folder);
    if (engine === "sqlite") {
      for (const file of fs.readdirSync(machines.folder)) {
        if (/^store-\d+\.db/.test(file)) fs.chownSync(path.join(machines.folder, file), NOBODY, NOBODY);
      }
      fs.chmodSync(machines.folder, 0o777);
    }
    return { uid: NOBODY, env: { PATH: `${bin}:${machine.env.PATH}` } };
  }
});
