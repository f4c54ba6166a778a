// tree, show, heads, fork, resume, rewind, diff, cost, export and import on a real store: what people see and what
// programs get.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { cli, enter, fails, json, leave, run, within } from "../../../test/shell.ts";
import type { Head } from "../../contracts/heads.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { displayWidth } from "../terminal.ts";

let cwd: string;
let first: Head;
let second: Head;

beforeEach(async () => {
  cwd = await enter();
  await within(async (store) => {
    await store.sessions.create({ id: "chat", title: "A \x1b[31mtitle", agent: "helper" });
    await say(store, "chat", "hello");
    first = await store.heads.publish("chat", { finalSummary: "greeted" });
    await say(store, "chat", "and on");
    second = await store.heads.publish("chat");
  });
});
afterEach(leave);

const say = (store: Holdfast, session: string, content: string) =>
  store.history.append({ session, agent: "helper" }, { role: "user", content });

/** So many digits of a head's id that no other begins with them, as a rule. */
const short = ({ id }: Head) => id.slice(0, 13);

describe("heads", () => {
  test("are listed, the current one marked", async () => {
    const lines = (await run("heads", "chat")).trimEnd().split("\n");
    expect(lines[0]).toMatch(/^HEAD +SEQ +MESSAGES +SUMMARY +PUBLISHED$/);
    expect(lines[1]).toMatch(new RegExp(`^${second.id} +current +5 +2 `));
    expect(lines[2]).toMatch(new RegExp(`^${first.id} +3 +1 +greeted `));
    const oldest = await json("heads", "chat", "--order", "oldest");
    expect(oldest.items).toMatchObject([{ id: first.id }, { id: second.id }]);
    expect(await fails("heads", "chat", "--order", "up")).toMatch(/^2 .*--order takes newest or oldest, not "up"/);
    const page = await json("heads", "ls", "chat", "--limit", "1");
    expect(page).toMatchObject({ session: "chat", current: second.id, items: [{ id: second.id }] });
    expect((await json("heads", "chat", "--cursor", page.next)).items).toHaveLength(1);
    expect((await cli(["heads", "chat"], { columns: 60 })).stdout).toContain(`${first.id.slice(0, 11)}…`);
    await run("sessions", "create", "empty");
    expect(await run("heads", "empty")).toBe("no heads\n");
    expect(await fails("heads", "nobody")).toMatch(/^3 .*no session "nobody"\n.*hint: `holdfast sessions`/s);
  });
});

describe("fork, resume and rewind", () => {
  test("take a session, a head by some digits of its id, or a message", async () => {
    expect(await run("fork", "chat", "from-current")).toMatch(
      /^created session from-current, a fork of chat at its current head hd-.{8}…\n$/,
    );
    const at = `chat@${short(first)}`;
    expect(await run("fork", at, "older")).toMatch(/^created session older, a fork of chat at head hd-/);
    expect(await json("fork", short(first))).toMatchObject({
      origin: "fork",
      from: { session: "chat", head: first.id },
    });
    expect(await run("fork", `${short(second)}…`, "copied-from-a-table")).toContain("a fork of chat");
    expect(await run("fork", `holdfast:#chat@${short(first)}`, "whole-locator")).toContain("a fork of chat");
    expect(await run("fork", "chat#2", "at-message", "--title", "T", "--tag", "x")).toContain("at message chat#2");
    const texts = await within(async (store) =>
      Promise.all(["from-current", "older", "at-message"].map(async (id) => (await store.history.session(id)).length)),
    );
    expect(texts).toEqual([2, 1, 1]);
    expect((await json("sessions", "show", "at-message")).tags).toEqual(["x"]);
  });

  test("move the session, and say so", async () => {
    expect(await run("resume", "chat")).toMatch(/^chat continues from head hd-.*… \(it was there already\)\n$/);
    expect(await run("resume", `chat@${short(first)}`)).toMatch(/^chat continues from head .*, on branch 6\n$/);
    expect(await json("rewind", `chat@${short(first)}`)).toMatchObject({ session: "chat", head: { id: first.id } });
    expect((await json("sessions", "show", "chat")).head).toBe(first.id);
  });

  test("refuse what cannot be, with the next step", async () => {
    expect(await fails("rewind", "chat")).toMatch(/^2 .*chat@HEAD; `holdfast heads chat` lists them/);
    expect(await fails("resume", "chat@hd-0000")).toMatch(
      /^3 .*no head hd-0000 in session "chat"\n.*holdfast heads chat/s,
    );
    expect(await fails("fork", "nobody#3")).toMatch(/^3 .*no session "nobody"/);
    expect(await fails("fork", "chat#99")).toMatch(/^3 .*does not show a message chat#99/);
    expect(await fails("fork", "chat", "chat")).toMatch(/^4 .*a session "chat" exists already/);
    expect(await fails("fork", `holdfast:other.db#chat`)).toMatch(/^2 .*another store/);
    await run("fork", "chat", "fork");
    expect(await fails("rewind", `fork@${short(first)}`)).toMatch(/^3 .*in session "fork"/);
  });

  test("a session that looks like a head or a message is that session", async () => {
    for (const id of ["hd-abcdef", "chat#2"]) {
      await run("sessions", "create", id);
      expect((await json("sessions", "show", id)).id).toBe(id);
      expect((await json("fork", id)).from).toEqual({ session: id });
    }
  });
});

describe("messages and state at a head", () => {
  test("show what was there then, and what was erased since", async () => {
    await within(async (store) => {
      await store.state.set("chat", { later: true });
      await store.history.clear({ session: "chat", agent: "helper" });
    });
    const shown = await run("messages", `chat@${short(second)}`);
    expect(shown.match(/\(erased\)/g)).toHaveLength(2);
    expect(await json("messages", short(first))).toMatchObject({
      head: first.id,
      total: 1,
      messages: [{ erased: true }],
    });
    expect(await fails("messages", `chat@${short(first)}`, "--follow")).toMatch(
      /^2 .*--follow needs a session without a head/,
    );
    expect(await run("state", `chat@${short(second)}`)).toMatch(/^no state \(at head hd-/);
    expect(await run("state", "chat", "later")).toBe("true\n");
    expect(await fails("state", short(second), "later")).toMatch(/^3 .*no state "later"/);
    expect(await run("messages", "holdfast:#chat")).toBe("no messages\n");
    expect(await fails("log", "holdfast:elsewhere#chat")).toMatch(/^2 .*another store/);
  });
});

describe("names of heads", () => {
  test("that cannot be are refused as heads, not as sessions", async () => {
    expect(await fails("messages", "chat@hd-zz")).toMatch(
      /^3 .*no head begins with hd-zz in session "chat"\n.*64 hex/s,
    );
    expect(await fails("messages", "chat@hd-1")).toMatch(/^2 .*hd-1 is too short.*at least 4 digits/s);
    expect(await fails("fork", "chat@09e442fc")).toMatch(/^3 .*no head begins with 09e442fc .*\n.*hd-09e442fc/s);
    expect(await fails("messages", "hd-zz")).toMatch(/^3 .*no head begins with hd-zz\n/s);
    await within(async (store) => {
      for (const at of ["chat@hd-zz", "chat@09e442fc", "chat@hd-000"]) {
        const error = { code: "NotFound", hint: expect.stringContaining("heads.list()") };
        await expect(store.sessions.fork(at)).rejects.toMatchObject(error);
      }
      expect((await store.sessions.at(`chat@${short(first)}`)).head?.id).toBe(first.id);
    });
  });

  test("are refused where only a session as it stands will do, and nothing is written", async () => {
    const before = await json("sessions");
    const commands = [
      ["check"],
      ["sessions", "rm"],
      ["tasks"],
      ["state", "rm"],
      ["state", "set"],
      ["messages", "add"],
      ["tasks", "add"],
    ];
    for (const command of commands) {
      for (const at of [`chat@${short(first)}`, `holdfast:#chat@${first.id}`]) {
        const more = { add: ["hi"], set: ["k=1"], rm: command[0] === "state" ? ["k"] : ["--yes"] }[command[1] ?? ""];
        expect(await fails(...command, at, ...(more ?? []))).toMatch(
          /^2 .*names a head, but this command takes a session without a head, such as chat; .*`holdfast \w+ \S*chat@hd-/,
        );
      }
    }
    expect(await fails("log", "nobody@hd-1a2b")).toMatch(/^3 .*no session/);
    expect(await fails("log", `chat@${short(first)}`, "--follow")).toMatch(
      /^2 .*--follow needs a session without a head/,
    );
    expect(await json("sessions")).toEqual(before);
  });

  test("are honoured wherever something is read", async () => {
    await run("rewind", `chat@${short(first)}`);
    await within((store) => store.calls.add("chat", { type: "root", model: "m", costUsd: 2 }));
    const seqs = (events: readonly { seq: number }[]) => events.map(({ seq }) => seq);
    for (const at of [`chat@${short(first)}`, short(first), `holdfast:#chat@${first.id}`]) {
      const log = await json("log", at);
      expect([log.head, log.seq, seqs(log.events)]).toEqual([first.id, 3, [1, 2, 3]]);
      expect(seqs((await json("trace", at)).events)).toEqual([1, 2, 3]);
      expect((await json("cost", at)).total.costUsd).toBe(0);
      expect((await json("heads", at)).items.map((head: Head) => head.id)).toEqual([first.id]);
      expect(await json("sessions", "show", at)).toMatchObject({
        id: "chat",
        at: { id: first.id },
        lineage: { heads: 1 },
      });
      expect(await json("sessions", "tree", at)).toMatchObject({ sessions: [{ id: "chat", seq: 3, head: first.id }] });
      expect(await json("log", "anchor", at)).toMatchObject({ session: "chat", seq: 3, hash: log.events[2].hash });
      const { findings } = await json("verify", at);
      expect(findings).toMatchObject([{ ok: true, note: expect.stringContaining("contains head hd-") }]);
    }
    expect((await json("cost", "chat")).total.costUsd).toBe(2);
    expect(await run("sessions", "show", `chat@${short(first)}`)).toMatch(/at head +hd-.*\n(.*\n)*messages +1\n/);
    expect(await run("sessions", "tree", `chat@${short(first)}`)).toMatch(
      /^chat ← .*\n└─ ● hd-.*… chat#3 ← greeted\n$/,
    );
    expect((await cli(["log", `chat@${short(first)}`, "--last", "1"])).stderr).toBe(
      "the last 1 of 3; --after 0 shows all\n",
    );
  });
});

describe("messages of a fork and after a rewind", () => {
  test("name inherited messages in full, and count what the line shows", async () => {
    await run("fork", `chat@${short(first)}`, "twig");
    await within((store) => say(store, "twig", "my own"));
    const { stdout, stderr } = await cli(["messages", "twig"]);
    expect(stdout).toMatch(/^chat#2 user .*\n {4}hello\n\n● hd-.* of chat: greeted\n\ntwig#\d+ user .*\n {4}my own\n$/);
    expect(stderr).toBe("");
    expect((await cli(["messages", "twig", "--last", "1"])).stderr).toBe("the last 1 of 2; --after 0 shows all\n");
    expect((await json("messages", "twig", "--last", "1")).total).toBe(2);

    await run("rewind", `chat@${short(first)}`);
    for (const text of ["x", "y", "z"]) await within((store) => say(store, "chat", text));
    expect(await json("messages", "chat", "--limit", "1")).toMatchObject({ total: 4, messages: [{ seq: 2 }] });
    expect((await cli(["messages", "chat"])).stderr).toBe("");
    await within((store) => store.history.append({ session: "chat", agent: "b" }, { role: "user", content: "b" }));
    await within((store) => store.history.clear({ session: "chat", agent: "helper" }));
    await within((store) => store.history.append({ session: "chat", agent: "b" }, { role: "user", content: "c" }));
    expect((await json("messages", "chat", "--last", "1")).total).toBe(2);
    const at = await cli(["messages", `chat@${short(second)}`, "--last", "1"]);
    expect(at.stderr).toBe("the last 1 of 2; --after 0 shows all\n");
  });
});

describe("sessions tree and show", () => {
  test("draw branches, heads and forks where they leave", async () => {
    await run("fork", `chat@${first.id}`, "fork");
    await run("resume", `chat@${first.id}`);
    await within(async (store) => {
      await say(store, "chat", "anew");
      await store.heads.publish("chat");
      const turn = await store.turns.begin("fork");
      await store.turns.abort(turn.id);
    });
    const lines = (await run("sessions", "tree", "fork")).trimEnd().split("\n");
    expect(lines.map((line) => line.replaceAll(/hd-[0-9a-f]{8}…/g, "HEAD"))).toEqual([
      "chat  2 messages, on branch 6  A \\x1b[31mtitle",
      "├─ ● HEAD chat#3 greeted",
      "├─ branch 6 from chat#3 current",
      "│  └─ ● HEAD chat#8 current",
      "├─ fork at chat#3: fork ←  1 message, on branch 5",
      "│  ├─ branch 5 from fork#2 current",
      "│  └─ ○ HEAD fork#4 aborted",
      "└─ ● HEAD chat#5",
    ]);
    const drawn = await json("sessions", "tree");
    expect(drawn.sessions.map(({ id }: { id: string }) => id)).toEqual(["fork", "chat"]);
    expect(drawn).toMatchObject({
      more: false,
      sessions: [{ from: { type: "fork", session: "chat", head: first.id } }, {}],
    });
    expect((await cli(["sessions", "tree", "--limit", "1"])).stdout).toContain(
      "fork  1 message, on branch 5, a fork at chat#3",
    );
  });

  test("fit the width, and leave out old heads", async () => {
    await within(async (store) => {
      for (let i = 0; i < 9; i++) await store.heads.publish("chat", { finalSummary: "words ".repeat(30) });
    });
    const { stdout } = await cli(["sessions", "tree"], { columns: 48, env: { NO_COLOR: "1" } });
    for (const line of stdout.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(48);
    expect(stdout).toContain("… 6 older heads (--heads)");
    expect(stdout.match(/●/g)).toHaveLength(5);
    expect((await run("sessions", "tree", "chat", "--heads", "100")).match(/●/g)).toHaveLength(11);
  });

  test("show names the source of a session and the sessions made from it", async () => {
    await run("fork", `chat@${first.id}`, "fork");
    const shown = await run("sessions", "show", "fork");
    expect(shown).toMatch(/^origin +fork$/m);
    expect(shown).toMatch(new RegExp(`^derived from +chat at head ${first.id.slice(0, 11)}…$`, "m"));
    expect(await run("sessions", "show", "chat")).toMatch(/^forks +fork$/m);
    expect((await json("sessions", "show", "chat")).lineage).toMatchObject({ heads: 2, branches: 1, forks: ["fork"] });
  });
});

describe("diff and cost", () => {
  test("tell what sets two sessions apart", async () => {
    await run("fork", `chat@${first.id}`, "fork");
    await within(async (store) => {
      await say(store, "fork", "in\nthe \x1b[31mfork");
      await store.state.set("fork", { k: 1 });
      await store.calls.add("fork", {
        type: "leaf",
        provider: "p",
        model: "m",
        inputTokens: 1200,
        outputTokens: 3,
        costUsd: 0.5,
      });
      await store.calls.add("fork", { type: "leaf", provider: "p", model: "m" });
    });
    const text = await run("diff", "chat", "fork");
    expect(text).toContain("in common  1 message, up to chat#3 (head hd-");
    expect(text).toContain("only in a: 1 message\n  - chat#4 user: and on\n");
    expect(text).toContain("only in b: 1 message\n  + fork#3 user: in the \\x1b[31mfork\n");
    expect(text).toContain("at least $0.5 (1 of 2 calls unknown)");
    expect(text).toMatch(/state, from a to b\n {2}\+ k: 1\n$/);
    expect(await json("diff", `chat@${short(first)}`, "fork")).toMatchObject({ common: 1, a: { messages: [] } });
    expect(await fails("diff", "chat")).toMatch(/^2 .*needs B/);

    expect(await run("cost", "chat")).toBe("no calls\n");
    const spent = await run("cost");
    expect(spent).toMatch(/^SESSION +MODEL +CALLS +IN +OUT +COST +UNKNOWN\nfork +p\/m +2 +1,200 +3 +\$0.5 +1\n/);
    expect(spent).toMatch(
      /tokens +at least 1,200 in, 3 out \(1 call unknown\)\ncost +at least \$0.5 \(1 of 2 calls unknown\)\n$/,
    );
    expect((await json("cost", "fork")).total).toMatchObject({ costUsd: 0.5, unknownCosts: 1 });
  });
});

describe("export and import", () => {
  test("bring a session from store to store", async () => {
    const out = await cli(["export", "chat", "--out", "chat.hf"]);
    expect(out.stdout).toMatch(/^wrote session chat to chat.hf \(\d/);
    expect(out.stderr).toContain("next: `holdfast import chat.hf --store OTHER`");
    expect(readdirSync(cwd).filter((name) => name.includes("partial"))).toEqual([]);
    await run("init", "--store", "other.db");
    expect(await run("import", "chat.hf", "--store", "other.db")).toMatch(
      /^imported session chat \(5 events\)\n {2}rows +\d+\n/,
    );
    expect(await run("import", "chat.hf", "--store", "other.db")).toBe(
      "session chat exists already with the same content\n",
    );
    expect((await json("sessions", "show", "chat", "--store", "other.db")).head).toBe(second.id);
    expect(await run("verify", "chat", "--store", "other.db")).toContain("5 events");

    const pieces: Buffer[] = [readFileSync(path.join(cwd, "chat.hf"))];
    async function* typed() {
      yield* pieces;
    }
    await run("init", "--store", "third.db");
    const piped = await cli(["import", "-", "--store", "third.db", "--json"], { stdin: typed() });
    expect(JSON.parse(piped.stdout)).toMatchObject({ session: "chat", sessions: [{ outcome: "imported" }] });
  });

  test("leave invoked sessions out unless they are asked for, and the check finds nothing wrong with that", async () => {
    await within(async (store) => {
      await store.invocations.spawn("chat", { session: { id: "child" } }, async () => {
        await say(store, "child", "done");
        await store.heads.publish("child");
      });
      await store.invocations.attach("chat", "child", { mode: "branch", session: { id: "again" } }, async () => 1);
    });
    const out = await cli(["export", "chat", "--out", "alone.hf"]);
    expect(out.stderr).toContain("2 invoked sessions left out; --children exports them as well");
    expect((await cli(["export", "chat", "--children", "-o", "family.hf"])).stderr).not.toContain("left out");
    for (const file of ["alone", "family"]) {
      await run("init", "--store", `${file}.db`);
      await run("import", `${file}.hf`, "--store", `${file}.db`);
      expect(await json("check", "--store", `${file}.db`)).toMatchObject({ status: "ok", issues: [] });
    }
    for (const id of ["child", "again"]) {
      await run("export", id, "-o", `${id}.hf`);
      await run("import", `${id}.hf`, "--store", "alone.db");
      expect(await json("check", "--store", "alone.db")).toMatchObject({ status: "ok", issues: [] });
    }
    const trees = await Promise.all(
      ["alone.db", "family.db"].map((store) => json("sessions", "tree", "chat", "--store", store)),
    );
    for (const { sessions } of trees) {
      const chat = sessions.find(({ id }: { id: string }) => id === "chat");
      expect(chat.invocations.map(({ callee }: { callee: string }) => callee)).toEqual(["child", "again"]);
    }
  });

  test("a fork alone brings of its source what it inherits, and that is said", async () => {
    await run("fork", `chat@${short(first)}`, "twig");
    await run("export", "twig", "-o", "twig.hf");
    await run("export", "chat", "-o", "chat.hf");
    await run("init", "--store", "other.db");
    const alone = await cli(["import", "twig.hf", "--store", "other.db"]);
    expect(alone.stderr).toContain("warning: the store has only the part of session chat that twig inherits");
    expect((await json("import", "twig.hf", "--store", "other.db")).partial).toEqual(["chat"]);
    expect(await fails("sessions", "show", "chat", "--store", "other.db")).toMatch(
      /^3 .*"chat" is in this store only in part, inherited by twig\n.*holdfast messages twig/s,
    );
    const whole = await cli(["import", "chat.hf", "--store", "other.db"]);
    expect(whole.stderr).not.toContain("warning");
    expect(await json("check", "--store", "other.db")).toMatchObject({ status: "ok", issues: [] });
    await run("init", "--store", "third.db");
    await run("import", "chat.hf", "--store", "third.db");
    const both = await cli(["import", "twig.hf", "--store", "third.db"]);
    expect(both.stderr).not.toContain("warning");
    await run("sessions", "rm", "chat", "--yes", "--store", "third.db");
    expect(await fails("messages", "chat", "--store", "third.db")).toMatch(
      /"chat" was erased, except \d+ messages? that these sessions inherit: twig/,
    );
  });

  test("create a store for an archive that is whole, and leave nothing behind for one that is not", async () => {
    await within(async (store) => {
      const ref = await store.blobs.store(new Uint8Array(300_000).map((_, i) => (i * i) % 251));
      await store.state.set("chat", { ref });
    });
    await run("export", "chat", "-o", "chat.hf");
    const whole = readFileSync(path.join(cwd, "chat.hf"));
    const cut = whole.subarray(0, whole.length - 40);
    writeFileSync(path.join(cwd, "cut.hf"), cut);
    const temporary = path.join(cwd, "temporary");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const before = readdirSync(cwd).sort();
    const target = ["--store", "new.db", "--blob-dir", "new-blobs"];
    const attempts: [string, Uint8Array][] = [
      ["cut.hf", new Uint8Array()],
      ["-", cut],
      ["-", Buffer.from("no archive")],
    ];
    for (const [file, input] of attempts) {
      const { code, stdout, stderr } = await cli(["import", file, ...target], { stdin: Readable.from([input]) });
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toMatch(/^holdfast: the archive cannot be used: .*\n.*Nothing was changed/);
      expect(readdirSync(cwd).sort()).toEqual(before);
    }
    const piped = await cli(["import", "-", ...target], { stdin: Readable.from([whole]) });
    expect([piped.code, piped.stderr]).toEqual([0, "created a store at new.db\n"]);
    expect(await json("check", ...target)).toMatchObject({ status: "ok", issues: [] });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("refuse a damaged file, a session that is another, and a terminal", async () => {
    await run("export", "chat", "-o", "chat.hf");
    const whole = readFileSync(path.join(cwd, "chat.hf"));
    writeFileSync(path.join(cwd, "cut.hf"), whole.subarray(0, whole.length - 40));
    expect(await fails("import", "cut.hf")).toMatch(/^5 .*ends too early\n.*Nothing was changed/s);
    await within((store) => say(store, "chat", "more"));
    expect(await fails("import", "chat.hf")).toMatch(/^4 .*the store has another session with the id "chat"/);
    expect(await fails("import", "absent.hf")).toMatch(/^3 .*no file absent.hf/);
    expect(await fails("export", `chat@${short(first)}`)).toMatch(
      /^2 .*whole.*`holdfast fork chat@hd-\S+ NEW-ID`, then `holdfast export NEW-ID`/s,
    );
    const typed = await cli(["export", "chat"], { columns: 80 });
    expect([typed.code, typed.stdout]).toEqual([2, ""]);
    expect(await fails("export", "nobody", "--out", "no.hf")).toMatch(/^3 /);
    expect(existsSync(path.join(cwd, "no.hf"))).toBe(false);
    expect(await fails("export", "chat", "-o", "cut.hf")).toMatch(/^4 .*the file cut.hf exists already\n.*--force/s);
    await run("export", "chat", "-o", "cut.hf", "--force");
    expect(await run("import", "cut.hf")).toContain("exists already");
  });

  test("write Markdown for people", async () => {
    const text = await run("export", "chat", "--markdown");
    expect(text.startsWith("# A \x1b\\[31mtitle\n\n- Session: `chat`\n")).toBe(true);
    expect(text).toContain("## 2. user (helper), ");
    expect(text).toContain("\n> and on\n");
    expect(await run("export", `chat@${short(first)}`, "--markdown")).not.toContain("and on");
    expect((await cli(["export", "chat", "--markdown"], { columns: 80 })).stdout).not.toContain("\x1b[31m");
    expect(await run("export", "chat", "--markdown", "--out", "chat.md")).toContain("as Markdown");
    expect(readFileSync(path.join(cwd, "chat.md"), "utf8")).toBe(text);
    expect((await json("export", "chat", "--markdown")).markdown).toBe(text);
  });
});
