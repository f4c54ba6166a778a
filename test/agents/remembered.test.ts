// What the real Claude Code and the store remember of a conversation: after moves with rewritten paths, after `holdfast run` was
// killed beside its agent, and when the last save was never imported.
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { withAgents } from "./agents.ts";
import { copyOf, eventually, holdfast, newStore, runClaude, savedTranscript, withStore } from "./holdfast.ts";
import { type Machine, type Machines, startMachines } from "./machine.ts";
import { call } from "./rich.ts";

withAgents("a conversation", (agents) => {
  let machines: Machines;
  beforeAll(async () => {
    machines = await startMachines(agents);
  });
  afterAll(() => machines.remove());

  /** By `run`; the fourth in steps of their own. The first leaves files that its transcript names by their paths. */
  async function turnOn(machine: Machine, store: string, n: number): Promise<string> {
    const spill = call("Bash", { command: "seq 1 20000", description: "spills" });
    const edit = call("Write", { file_path: path.join(machine.cwd, "a.txt"), content: "one" });
    const prompt = `The word is CODEWORD-8${n}. ${n === 1 ? `${spill} ${edit}` : ""} [[recall CODEWORD-8\\d]]`;
    if (n < 4) {
      const ran = await runClaude(machine, { store, prompt, more: ["--rewrite-paths"] }).ended;
      expect(ran).toMatchObject({ code: 0, stderr: expect.not.stringContaining("beside") });
      return ran.stdout;
    }
    const named = ["--request", "r-1", "--store", store];
    const resume = await holdfast(machine, ["restore", "--rewrite-paths", ...named]).done();
    const [, id = ""] = /claude --resume (\S+)/.exec(resume) ?? [];
    const said = await machine.claude(prompt, { args: ["--resume", id] }).done();
    const captured = await holdfast(machine, ["capture", "--session-id", id, ...named]).ended;
    expect(captured).toMatchObject({ code: 0, stderr: expect.not.stringContaining("another machine") });
    return said;
  }

  // matrix.test.ts always moves a session to another directory on PostgreSQL.
  test.each(scaled({ short: ["sqlite"], long: ["sqlite", "postgres"] } as const))(
    "CA3 with --rewrite-paths it goes on through four directories, in generations of one capture (%s)",
    async (engine) => {
      const store = await newStore(machines, engine);
      const words: string[] = [];
      for (let n = 1; n <= 4; n++) {
        const machine = machines.add({ cwd: `moved-${engine}-${n}/in it` });
        const ran = await turnOn(machine, store.url, n);
        for (const word of words) expect(ran, `machine ${n}`).toContain(word);
        words.push(`CODEWORD-8${n}`);
        await machine.die();
      }
      await withStore(store.url, async (hf) => {
        const { items } = await hf.captures.list({ diverged: true });
        expect(items).toHaveLength(1);
        expect(items[0]?.generation).toBeGreaterThanOrEqual(4);
        expect((await hf.check()).issues).toEqual([]);
      });
      const text = await savedTranscript(store.url);
      for (const word of words) expect(text).toContain(word);
      expect(text, "paths of a machine that is gone").not.toContain(`/home-1/.claude/projects/`);
      await store.remove();
    },
  );

  test("CA7 `holdfast run` is killed beside its agent, which works on while the request is run again: nothing wedges", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const machine = machines.add();
    const marker = path.join(machine.cwd, "begun");
    const slow = call("Bash", { command: `touch '${marker}'; sleep 8; echo WOKEN-1`, description: "wait" });
    const first = runClaude(machine, { store, prompt: `ASKED-1 ${slow} [[say ANSWER-1]]`, more: ["--every", "200ms"] });
    await first.until(() => fs.existsSync(marker));
    await eventually(async () => (await savedTranscript(store)).includes("sleep 8"), "a save in mid-turn");
    process.kill(first.pid, "SIGKILL");
    const more = ["--every", "200ms", "--beside"];
    const second = await runClaude(machine, { store, prompt: "ASKED-2 [[say ANSWER-2]]", more }).ended;
    expect(second).toMatchObject({ code: 0 });
    const transcript = () => newestTranscript(machine.home);
    await eventually(() => fs.readFileSync(transcript(), "utf8").includes(`"text":"ANSWER-1"`), "the orphan's answer");
    for (const n of [3, 4]) {
      const ran = await runClaude(machine, { store, prompt: `ASKED-${n} [[say ANSWER-${n}]]`, more: ["--wait"] }).ended;
      expect(ran).toMatchObject({ code: 0 });
      expect(ran.stderr, `run ${n}`).not.toMatch(/not saved|could not|already/);
    }
    const sessionId = path.basename(transcript(), ".jsonl");
    const captured = await holdfast(machine, [
      "capture",
      "--session-id",
      sessionId,
      "--request",
      "r-1",
      "--store",
      store,
    ]).ended;
    expect(captured).toMatchObject({ code: 0 });
    const text = await holdfast(machine, ["handover", "--request", "r-1", "--store", store]).done();
    expect(text).toContain("ASKED-4");
    expect(text).toContain("ANSWER-4");
    await withStore(store, async (hf) => {
      expect((await hf.check()).issues).toEqual([]);
      const [capture] = (await hf.captures.list()).items;
      const keys = (await hf.history.session(capture?.session ?? "")).map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
    });
  });

  const lastPrompt = () => {
    const sent = machines.api.log.filter(({ path: route }) => route.startsWith("/v1/messages")).at(-1);
    return JSON.stringify((sent?.body as { messages?: unknown })?.messages ?? null);
  };

  test("CA7 what was captured and never imported is in the handover, in the digest, and outlives the sweep", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const machine = machines.add();
    // The digest repeats the prompt, and with it the script: the second time nothing waits.
    const [go, over] = ["go", "over"].map((name) => path.join(machines.folder, name));
    const held = call("Bash", { command: `while [ ! -e '${go}' ]; do sleep 0.1; done`, description: "wait" });
    const steps = [1, 2, 3, 4].map((n) => call("Bash", { command: `echo STEP-${n}`, description: "step" }));
    const slow = call("Bash", { command: `echo LAST; [ -e '${over}' ] || sleep 60`, description: "wait" });
    const prompt = `ASKED-1 ${held} ${steps.join(" ")} ${slow}`;
    const running = runClaude(machine, { store, prompt, more: ["--every", "100ms"] });
    // The conversation is imported with the first save, and then every ten seconds.
    const imported = () =>
      withStore(store, async (hf) => {
        const [capture] = (await hf.captures.list()).items;
        return JSON.stringify(capture === undefined ? [] : await hf.history.session(capture.session));
      });
    await eventually(async () => fs.existsSync(store) && (await imported()).includes("ASKED-1"), "the first import");
    fs.writeFileSync(go ?? "", "");
    await eventually(
      async () => (await savedTranscript(store)).includes(`"command":"echo LAST;`),
      "a save in mid-turn",
    );
    await running.kill();
    await machine.die();
    fs.writeFileSync(over ?? "", "");
    expect(await imported(), "it is not behind its capture, so this shows nothing").not.toContain(
      `"command":"echo LAST;`,
    );
    const [swept, expired] = ["swept.db", "expired.db"].map((name) => copyOf(store, path.join(machines.folder, name)));

    const other = machines.add();
    const handover = (of: string) => holdfast(other, ["handover", "--request", "r-1", "--store", of]).done();
    const text = await handover(store);
    expect(text).toContain("- `echo STEP-4`");
    expect(text).toMatch(/cut off in `Bash`: .*sleep 60/);

    for (const one of [swept, expired]) await expire(one ?? "");
    expect(await holdfast(other, ["captures", "sweep", "--store", swept ?? ""]).done()).toContain("1 expired capture");
    const afterSweep = await handover(swept ?? "");
    expect(afterSweep).toContain("- `echo STEP-4`");
    expect(afterSweep).toContain("The capture of the session's files is gone");

    const next = await runClaude(other, { store: expired ?? "", prompt: "And now? [[say sure]]" }).ended;
    expect(next.stderr).toContain("gave the agent the stored conversation instead");
    expect(lastPrompt()).toMatch(/\(calls Bash\) [^|]*echo STEP-4/);
  });

  test("CA8 what is kept beside the newest has a conversation of its own, and is the request's once it is preferred", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const first = machines.add();
    await runClaude(first, { store, prompt: "COMMON-1 [[say ok]]" }).done();
    const marker = path.join(machines.folder, "apart");
    const wait = call("Bash", {
      command: `touch '${marker}'; while [ ! -e '${marker}.go' ]; do sleep 0.1; done`,
      description: "wait",
    });
    const apart = machines.add();
    const running = runClaude(apart, {
      store,
      prompt: `APART-2 ${wait} [[say APART-ANSWER]]`,
      more: ["--every", "10m"],
    });
    await running.until(() => fs.existsSync(marker));
    await runClaude(machines.add(), { store, prompt: "NEWEST-2 [[say NEWEST-ANSWER]]", more: ["--beside"] }).done();
    fs.writeFileSync(`${marker}.go`, "");
    const ran = await running.ended;
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("beside the newest") });
    const [, beside = ""] = /captures prefer (cap_\w+)/.exec(ran.stderr) ?? [];

    const text = (...args: string[]) => holdfast(first, ["handover", ...args, "--store", store]).done();
    const both = { own: await text("--capture", beside), request: await text("--request", "r-1") };
    expect(both.own).toContain("COMMON-1");
    expect(both.own).toContain("APART-ANSWER");
    expect(both.own).not.toContain("NEWEST-2");
    expect(both.request).toContain("COMMON-1");
    expect(both.request).toContain("NEWEST-ANSWER");
    // Its first line was saved before the other one began, so that its prompt is in both.
    const answer = /^ {4}APART-ANSWER$/m;
    expect(both.own).toMatch(answer);
    expect(both.request).not.toMatch(answer);

    await holdfast(first, ["captures", "prefer", beside, "--store", store]).done();
    expect(await text("--request", "r-1")).toContain("APART-ANSWER");
    await withStore(store, async ({ captures, check }) => {
      for (const { id } of (await captures.list({ diverged: true })).items) await captures.delete(id);
      expect((await check()).issues).toEqual([]);
    });
    const alone = await text("--request", "r-1");
    expect(alone, "the captures are gone").toContain("APART-ANSWER");
    expect(alone).not.toContain("NEWEST-2");
  });

  test("CA7 the handover tells people's prompts, edits that succeeded, the answer to the last prompt, and when", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const machine = machines.add();
    const [good, bad] = ["good.txt", "bad.txt"].map((name) => path.join(machine.cwd, name));
    const background = call("Bash", { command: "sleep 1; echo over", description: "b", run_in_background: true });
    const edits = [
      call("Write", { file_path: good, content: "one" }),
      call("Edit", { file_path: bad, old_string: "a", new_string: "b" }),
    ];
    await runClaude(machine, { store, prompt: `FIRST-1 ${background} ${edits.join(" ")} [[say ANSWER-1]]` }).done();
    expect(await savedTranscript(store), "no notification came, so this shows nothing").toContain(
      "<task-notification>",
    );
    const marker = path.join(machine.cwd, "begun");
    const slow = call("Bash", { command: `touch '${marker}'; sleep 60`, description: "wait" });
    const running = runClaude(machine, { store, prompt: `SECOND-2 ${slow}`, more: ["--every", "100ms"] });
    await running.until(() => fs.existsSync(marker));
    await eventually(async () => (await savedTranscript(store)).includes(`"command":"touch`), "a save in mid-turn");
    await running.kill();
    await machine.die();
    const text = await holdfast(machines.add(), ["handover", "--request", "r-1", "--store", store]).done();
    const part = (title: string) => text.split("\n## ").find((text) => text.startsWith(title)) ?? "";
    const asked = part("What was asked");
    expect(asked).toMatch(/\*\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\*\n\n {4}FIRST-1[^\n]*\n\n\*.* UTC\*\n\n {4}SECOND-2/);
    expect(asked).not.toContain("task-notification");
    expect(part("Files changed")).toContain(good);
    expect(part("Files changed")).not.toContain("bad.txt");
    expect(part("Last answer")).toContain("The last prompt has no answer yet.");
  });

  test("CA5 after expiry `run`, `restore` and `handover` tell the same story", async () => {
    const { url: store } = await newStore(machines, "sqlite");
    const machine = machines.add();
    await runClaude(machine, { store, prompt: "STORY-1 [[say told]]" }).done();
    await machine.die();
    await expire(store);
    const other = machines.add();
    const named = ["--request", "r-1", "--store", store];
    const refused = await holdfast(other, ["restore", ...named]).ended;
    const handover = await holdfast(other, ["handover", ...named]).done();
    const ran = await runClaude(other, { store, prompt: "And? [[say sure]]" }).ended;
    const [, why = "?"] = /(cap_\w+ expired) /.exec(refused.stderr) ?? [];
    expect(refused.stderr).toContain("holdfast handover --request r-1");
    expect(ran.stderr).toContain(`could not resume (${why} `);
    const [, at = "?"] = /\*(\S+ \S+ UTC)\*\n\n {4}STORY-1/.exec(handover) ?? [];
    expect(lastPrompt()).toContain(`[user, ${at}]\\n| STORY-1`);
  });

  async function expire(store: string): Promise<void> {
    await withStore(store, async ({ captures }) => {
      for (const { id } of (await captures.list()).items) await captures.expire(id, Date.now() - 1);
    });
  }
});

function newestTranscript(home: string): string {
  const folder = path.join(home, ".claude/projects");
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\/[0-9a-f-]{36}\.jsonl$/.test(name));
  const times = files.map((name) => [path.join(folder, name), fs.statSync(path.join(folder, name)).mtimeMs] as const);
  return times.toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "";
}
