// holdfast run with the real agents: a container works, dies with everything in it, and another one goes on, in another home
// and another directory. What proves it is what the agent sent to the API.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { CLI } from "../command.ts";
import { withAgents } from "./agents.ts";
import { type Machine, type Machines, MODEL, type Running, type RunOptions, startMachines } from "./machine.ts";
import { linkOrCopy, NOBODY, ownedBy, troubleAs } from "./other-user.ts";

const CLAUDE = ["claude", "-p", "--model", MODEL, "--dangerously-skip-permissions"];
const RECALL = "What was it? [[recall CODEWORD-\\d+]]";

function lineOf(store: string, prompt: string, more: readonly string[] = []): readonly string[] {
  return ["run", "--request", "r-1", "--store", store, ...more, "--", ...CLAUDE, prompt];
}

withAgents("holdfast run", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  let stores = 0;
  const newStore = () => path.join(machines.folder, `store-${++stores}.db`);

  function holdfast(machine: Machine, args: readonly string[], options?: RunOptions): Running {
    return machine.start(process.execPath, [CLI, ...args], options);
  }

  /** As `holdfast run --request r --store s -- claude -p … prompt`. */
  function claude(machine: Machine, store: string, prompt: string, more: readonly string[] = []): Running {
    return holdfast(machine, lineOf(store, prompt, more));
  }

  const lastPrompt = () => {
    const sent = machines.api.log.filter(({ path: route }) => route.startsWith("/v1/messages")).at(-1);
    return JSON.stringify((sent?.body as { messages?: unknown })?.messages ?? null);
  };

  test("CA4 a session of Claude Code goes on in another home and another directory", async () => {
    const store = newStore();
    const a = machines.add();
    const first = await claude(
      a,
      store,
      'The word is CODEWORD-7. [[tool Bash {"command":"echo CODEWORD-8","description":"echo"}]] [[say noted]]',
    ).ended;
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain("noted");
    expect(first.stderr).toMatch(/holdfast: session [0-9a-f-]{36}; saved \d+ files?, .* generation \d+ of cap_/);
    await a.die();

    const b = machines.add({ cwd: "another dir/with.dots_and é" });
    const second = await claude(b, store, RECALL).ended;
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toMatch(/CODEWORD-7.*CODEWORD-8/s);
    expect(second.stderr).toMatch(/holdfast: resumed [0-9a-f-]{36} \(\d+ messages\); saved .* of cap_/);
    expect(lastPrompt()).toContain("noted");

    const hf = await open(store);
    const { items } = await hf.captures.list();
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ request: "r-1", agent: "claude-code", diverged: false });
    const messages = await hf.history.get({ session: items[0]?.session ?? "", agent: "claude-code" });
    expect(JSON.stringify(messages)).toContain("CODEWORD-8");
    expect((await hf.check()).issues).toEqual([]);
    await hf.close();
  });

  test("CA2 killed in mid-turn with everything on its machine, all up to the running tool call is there", async () => {
    const store = newStore();
    const a = machines.add();
    const marker = path.join(a.cwd, "begun");
    const running = claude(
      a,
      store,
      `The word is CODEWORD-70. [[tool Bash {"command":"touch ${marker}; sleep 60","description":"wait"}]] [[say never]]`,
      ["--every", "200ms"],
    );
    await running.until(() => fs.existsSync(marker));
    await until(async () => (await savedText(store)).includes("sleep 60"));
    await running.kill();
    await a.die();
    const b = machines.add();
    const second = await claude(b, store, RECALL).ended;
    expect(second.stdout).toContain("CODEWORD-70");
    expect(second.stderr).toContain("holdfast: resumed ");
    expect(lastPrompt()).toContain("sleep 60");
  });

  test("CA2 killed with -9 right after its first line is on disk, that line is in the store", async () => {
    const store = newStore();
    const a = machines.add();
    const projects = path.join(a.home, ".claude/projects");
    const isSaid = () => readAll(projects).includes("CODEWORD-77");
    // Whatever it does next takes a minute, and the interval does not come to pass.
    const prompt = 'The word is CODEWORD-77. [[tool Bash {"command":"sleep 60","description":"wait"}]]';
    const running = claude(a, store, prompt, ["--every", "10m"]);
    await running.until(isSaid);
    await new Promise((next) => setTimeout(next, 500));
    await running.kill();
    await a.die();
    const b = machines.add();
    const second = await claude(b, store, RECALL).ended;
    expect(second.stdout).toContain("CODEWORD-77");
    expect(second.stderr).toContain("holdfast: resumed ");
  });

  test("CA4 started by a shell, and told to end by a signal, it resumes as it does otherwise", async () => {
    const store = newStore();
    const a = machines.add();
    const through = (machine: Machine, prompt: string) => {
      const script = [...CLAUDE, `'${prompt}'`].join(" ");
      return holdfast(machine, ["run", "--request", "r-1", "--store", store, "--", "bash", "-c", script]);
    };
    const marker = path.join(a.cwd, "begun");
    const slow = `[[tool Bash {"command":"touch ${marker}; sleep 60","description":"wait"}]]`;
    const running = through(a, `The word is CODEWORD-78. ${slow}`);
    await running.until(() => fs.existsSync(marker));
    process.kill(running.pid, "SIGTERM");
    const first = await running.ended;
    expect([143, 130]).toContain(first.code);
    await a.die();
    const b = machines.add();
    const second = await through(b, RECALL).ended;
    expect(second.stdout).toContain("CODEWORD-78");
    expect(second.stderr).toContain("holdfast: resumed ");
  });

  test("CA4 what cannot be put back is told instead, and said", async () => {
    const store = newStore();
    const a = machines.add();
    await claude(a, store, "The word is CODEWORD-71. [[say noted]]").done();
    await a.die();
    const hf = await open(store);
    const [capture] = (await hf.captures.list()).items;
    await hf.captures.delete(capture?.id ?? "");
    await hf.close();
    const b = machines.add();
    const second = await claude(b, store, "What was it? [[say sure]]").ended;
    expect(second.stderr).toMatch(/could not resume \(.*\), gave the agent the stored conversation instead/);
    expect(lastPrompt()).toContain("CODEWORD-71");
    expect(lastPrompt()).toContain("earlier-conversation");
  });

  test("CA8 a session that lay there is not taken for the agent's own, and is when it is continued", async () => {
    const store = newStore();
    const a = machines.add();
    await a.claude("PRIVATE-1 [[say ok]]").done();
    expect(await claude(a, store, "OWN-2 [[say ok]]", ["--every", "50ms"]).ended).toMatchObject({ code: 0 });
    expect(await savedText(store)).not.toContain("PRIVATE-1");
    const args = ["run", "--request", "r-c", "--store", store, "--", ...CLAUDE, "-c", "MORE-3 [[say ok]]"];
    const more = await holdfast(a, args).ended;
    expect(more).toMatchObject({ code: 0, stderr: expect.stringMatching(/holdfast: session [0-9a-f-]{36}; saved /) });
    expect(await savedText(store)).toMatch(/OWN-2.*MORE-3/s);
  });

  test("CA6 without a store a bundle goes from container to container", async () => {
    const a = machines.add();
    const out = path.join(machines.folder, "session.bundle");
    const run = (machine: Machine, prompt: string, env: Record<string, string> = {}) =>
      holdfast(machine, ["run", "--out", out, "--", ...CLAUDE, prompt], { env });
    const first = await run(a, "The word is CODEWORD-72. [[say noted]]").ended;
    expect(first).toMatchObject({ code: 0 });
    expect(first.stderr).toContain("wrote ");
    expect(fs.existsSync(path.join(a.cwd, "holdfast.db"))).toBe(false);
    await a.die();
    const b = machines.add();
    const blob = fs.readFileSync(out).toString("base64");
    const second = await run(b, RECALL, { AGENT_SESSION_BLOB: blob }).ended;
    expect(second.stdout).toContain("CODEWORD-72");
    expect(second.stderr).toContain("holdfast: resumed ");
  });

  test("CA8 the agent's exit code and the signals it is sent are its own", async () => {
    const store = newStore();
    const a = machines.add();
    const failed = await claude(a, store, "[[error 400 invalid_request_error no]]").ended;
    expect(failed.code).toBe(1);
    const marker = path.join(a.cwd, "begun");
    const running = claude(a, store, `[[tool Bash {"command":"touch ${marker}; sleep 60","description":"wait"}]]`);
    await running.until(() => fs.existsSync(marker));
    process.kill(running.pid, "SIGTERM");
    const ended = await running.ended;
    expect([143, 130]).toContain(ended.code);
    expect(ended.stderr).toContain("; saved ");
  });

  const overlong = ["more than 200 characters", `${"long-name-".repeat(12)}/${"and-longer-".repeat(12)}`] as const;
  const odd = [
    ["dots, underscores and spaces", "a.b_c d/.hidden"],
    ["other alphabets", "ünïcødé-日本-😀"],
  ] as const;
  // Every other directory here has some of the odd characters.
  test.each(scaled({ short: [overlong], long: [overlong, ...odd] }))("CA3 a directory with %s", async (_, cwd) => {
    const store = newStore();
    const a = machines.add();
    await claude(a, store, "The word is CODEWORD-73. [[say noted]]").done();
    await a.die();
    const b = machines.add({ cwd });
    const second = await claude(b, store, RECALL).ended;
    expect(second.stdout).toContain("CODEWORD-73");
    expect(second.stderr).toContain("holdfast: resumed ");
    // And from there.
    const c = machines.add();
    await b.die();
    expect(await claude(c, store, "And now? [[recall CODEWORD-\\d+]]").done()).toContain("CODEWORD-73");
  });

  test("CA3 a directory that is reached by a link", async () => {
    const store = newStore();
    const a = machines.add();
    await claude(a, store, "The word is CODEWORD-74. [[say noted]]").done();
    await a.die();
    const b = machines.add();
    const link = path.join(machines.folder, "a link");
    fs.symlinkSync(b.cwd, link);
    const second = await holdfast(b, lineOf(store, RECALL), { cwd: link, env: { PWD: link } }).ended;
    expect(second.stdout).toContain("CODEWORD-74");
    expect(second.stderr).toContain("holdfast: resumed ");
  });

  const notAnother = troubleAs(NOBODY);
  const another = "CA3 by another user";
  test.skipIf(notAnother !== null)(notAnother === null ? another : `${another} (skipped: ${notAnother})`, async () => {
    fs.chmodSync(machines.folder, 0o755);
    const shared = path.join(machines.folder, "shared");
    fs.mkdirSync(path.join(shared, "bin"), { recursive: true });
    // Where it is installed is root's own.
    linkOrCopy(agents.claude, path.join(shared, "bin/claude"));
    const store = path.join(shared, "store.db");
    const a = machines.add();
    await claude(a, store, "The word is CODEWORD-76. [[say noted]]").done();
    await a.die();
    const b = machines.add();
    for (const folder of [shared, b.home, b.cwd]) ownedBy(NOBODY, folder);
    const env = { PATH: `${path.join(shared, "bin")}:${b.env.PATH}` };
    const second = await holdfast(b, lineOf(store, RECALL), { uid: NOBODY, env }).ended;
    expect(second.stdout).toContain("CODEWORD-76");
    expect(second.stderr).toContain("holdfast: resumed ");
    const put = fs.readdirSync(path.join(b.home, ".claude/projects"), { recursive: true, encoding: "utf8" });
    const [transcript = ""] = put.filter((name) => name.endsWith(".jsonl"));
    const { uid, mode } = fs.statSync(path.join(b.home, ".claude/projects", transcript));
    expect([uid, mode & 0o777]).toEqual([NOBODY, 0o600]);
  });

  /** What the transcripts in the store say by now. */
  async function savedText(store: string): Promise<string> {
    if (!fs.existsSync(store)) return "";
    const hf = await open(store);
    try {
      const [capture] = (await hf.captures.list()).items;
      if (capture === undefined) return "";
      const pieces: Uint8Array[] = [];
      const { id, sessionId } = capture;
      for await (const piece of hf.captures.read(id, `project/${sessionId}.jsonl`)) pieces.push(piece);
      return Buffer.concat(pieces).toString("utf8");
    } finally {
      await hf.close();
    }
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    for (let tries = 0; !(await isSo()); tries++) {
      if (tries > 600) throw new Error("it does not come to that");
      await new Promise((next) => setTimeout(next, 100));
    }
  }
});

/** Everything that lies there. */
function readAll(folder: string): string {
  if (!fs.existsSync(folder)) return "";
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => fs.readFileSync(path.join(folder, name), "utf8")).join("");
}
