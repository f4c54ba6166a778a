// log, verify, blobs, stats, gc and migrate on a real store: what people see and what programs get.
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cli, enter, json, leave, run, within } from "../../../test/shell.ts";
import { open } from "../../open.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const inDirectory = (name: string) => path.join(cwd, name);

async function fill(session: string, count: number, run = ""): Promise<void> {
  const hf = await open(inDirectory("holdfast.db"));
  const messages = Array.from({ length: count }, (_, i) => ({ role: "user" as const, content: `message ${i}` }));
  await hf.history.appendMany({ session, agent: "a" }, messages, run === "" ? {} : { run });
  await hf.close();
}

/** Changes a byte of the one event of that run, below the database. */
function damage(run: string): void {
  const file = inDirectory("holdfast.db");
  const bytes = readFileSync(file);
  const at = bytes.indexOf(`"run":"${run}"`);
  expect(at).toBeGreaterThan(0);
  bytes.write("X", at + 7);
  writeFileSync(file, bytes);
}

describe("log", () => {
  test("prints events: the last ones, from a place, of a type", async () => {
    await fill("s", 60);
    await run("state", "set", "s", "a=1");
    const { stdout, stderr } = await cli(["log", "s"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^EVENT +TIME +TYPE +AGENT +HASH +DATA$/);
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toMatch(/^s#62 +\S+ \S+Z +state\/patched +[0-9a-f]{8} /);
    expect(stderr).toBe("the last 50 of 62; --after 0 shows all\n");
    const seqs = async (...argv: string[]) =>
      (await json("log", "s", ...argv)).events.map((e: { seq: number }) => e.seq);
    expect(await seqs("--after", "59")).toEqual([60, 61, 62]);
    expect(await seqs("--after", "s#59")).toEqual([60, 61, 62]);
    expect(await cli(["log", "s", "--after", "t#59"])).toMatchObject({ code: 2 });
    expect(await seqs("--limit", "2")).toEqual([1, 2]);
    expect(await seqs("--last", "1")).toEqual([62]);
    expect(await seqs("--type", "session/created", "--type", "state/patched")).toEqual([1, 62]);
    expect(await json("log", "s", "--last", "0")).toMatchObject({ session: "s", seq: 62, events: [] });
    expect(await cli(["log", "nope"])).toMatchObject({ code: 3 });
    expect(await cli(["log", "s", "--last", "1", "--limit", "1"])).toMatchObject({ code: 2 });
  });

  test("fits an 80-column terminal", async () => {
    await fill("s", 3, "a-run-with-quite-a-long-name-for-a-column");
    const { stdout } = await cli(["log", "s"], { columns: 80, env: { NO_COLOR: "1" } });
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test("is followed until the signal", async () => {
    await fill("s", 1);
    const stop = new AbortController();
    const seen: string[] = [];
    const watch = async (text: string) => {
      seen.push(/^s#(\d+)/.exec(text)?.[1] ?? text);
      if (seen.length === 1) await fill("s", 1);
      if (seen.length === 2) stop.abort();
    };
    const argv = ["log", "s", "--follow", "--type", "message/added"];
    const { code } = await cli(argv, { signal: stop.signal, onStdout: watch });
    expect([code, ...seen]).toEqual([0, "2", "3"]);
  });
});

describe("verify", () => {
  test("checks every session, or those named", async () => {
    expect(await run("verify")).toBe("no sessions to verify\n");
    await fill("s", 3);
    await fill("t", 5);
    const text = await run("verify");
    expect(text).toMatch(/^ +SESSION +EVENTS +CHAIN HEAD\nok +t +6 +[0-9a-f]{16}\nok +s +4 +[0-9a-f]{16}\n/);
    expect(text).toMatch(/\nall good: 2 sessions, 10 events verified\n$/);
    expect(await json("verify", "s", "--blobs")).toMatchObject({ ok: true, sessions: 1, events: 4, damaged: 0 });
    expect(await cli(["verify", "nope"])).toMatchObject({ code: 3 });
  });

  test("names the first bad event and exits with 5", async () => {
    await fill("s", 3);
    await fill("s", 1, "victim");
    await fill("s", 3);
    await fill("fine", 1);
    damage("victim");
    const { code, stdout, stderr } = await cli(["verify"]);
    expect([code, stderr]).toEqual([5, ""]);
    expect(stdout).toMatch(/^DAMAGED +s /m);
    expect(stdout).toMatch(/^ok +fine /m);
    expect(stdout).toMatch(/^s: first bad event s#5: .+\ndamage in 1 of 2 sessions\n$/m);
    const report = await cli(["verify", "--json"]);
    expect(report.code).toBe(5);
    expect(JSON.parse(report.stdout)).toMatchObject({ ok: false, damaged: 1 });
    expect(JSON.parse(report.stdout).findings).toContainEqual(
      expect.objectContaining({ session: "s", ok: false, badSeq: 5 }),
    );
    expect(await cli(["verify", "fine"])).toMatchObject({ code: 0 });
  });

  test("names the session that a fork inherits the damage from", async () => {
    await fill("ticket-7", 8);
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    db.exec("DELETE FROM events WHERE seq = 5");
    db.close();
    const hf = await open(inDirectory("holdfast.db"));
    const head = await hf.heads.publish("ticket-7");
    await hf.close();
    await run("fork", `ticket-7@${head.id}`, "rescue");
    for (const more of [[], ["--blobs"]]) {
      const { code, stdout } = await cli(["verify", "rescue", ...more]);
      expect([code, stdout]).toEqual([5, expect.stringMatching(/^rescue: first bad event ticket-7#5: /m)]);
    }
    expect(await cli(["check", "rescue"])).toMatchObject({ code: 5, stdout: expect.stringContaining("ticket-7#5") });
    const all = await cli(["verify"]);
    expect(all.stdout, "each damage once").toContain("damage in 1 of 2 sessions");
  });

  test("finds out a rewritten history by an anchor kept elsewhere", async () => {
    await fill("s", 3);
    await fill("t", 2);
    const one = JSON.parse(await run("log", "anchor", "s"));
    expect(one).toMatchObject({ session: "s", seq: 4 });
    writeFileSync(inDirectory("one.json"), await run("log", "anchor", "s"));
    writeFileSync(inDirectory("all.json"), await run("log", "anchor", "--all"));
    await fill("s", 1);
    expect(await run("verify", "--anchor", "all.json")).toContain("anchored at 4");
    expect(await run("verify", "s", "--anchor", "one.json", "--from", "one.json")).toContain("all good");
    expect(await cli(["verify", "t", "--anchor", "one.json"])).toMatchObject({ code: 2 });
    writeFileSync(inDirectory("later.json"), await run("log", "anchor", "s"));
    expect(await json("verify", "s", "--anchor", "one.json", "--from", "later.json")).toMatchObject({ events: 5 });

    writeFileSync(inDirectory("other.json"), JSON.stringify({ ...one, hash: "0".repeat(64) }));
    expect(await cli(["verify", "--anchor", "other.json"])).toMatchObject({ code: 5 });
    writeFileSync(inDirectory("gone.json"), JSON.stringify([{ ...one, session: "never" }]));
    const gone = await cli(["verify", "--anchor", "gone.json"]);
    expect([gone.code, gone.stdout]).toEqual([5, expect.stringContaining("the anchored session does not exist")]);
    await run("sessions", "rm", "t", "--yes");
    const erased = await run("verify", "--anchor", "all.json");
    expect(erased).toMatch(/^ok +t +0 +erased; nothing to verify$/m);
    expect(erased).toContain("all good");
  });

  test("reads nothing but anchors as anchors", async () => {
    writeFileSync(inDirectory("bad.json"), '{"session": 1}');
    writeFileSync(inDirectory("text.json"), "anchor");
    expect(await cli(["verify", "--anchor", "bad.json"])).toMatchObject({ code: 2 });
    expect(await cli(["verify", "--anchor", "text.json"])).toMatchObject({ code: 2 });
    expect(await cli(["verify", "--anchor", "none.json"])).toMatchObject({ code: 3 });
    expect(await cli(["log", "anchor"])).toMatchObject({ code: 2 });
  });

  test("with --blobs finds damaged content that no event repeats", async () => {
    const hf = await open(inDirectory("holdfast.db"));
    // Too long to stand in the row of the message, where verify would find it by itself.
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "words ".repeat(1000) });
    await hf.close();
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    db.exec("UPDATE blobs SET body = zeroblob(length(body))");
    db.close();
    expect(await cli(["verify"])).toMatchObject({ code: 0 });
    const { code, stdout } = await cli(["verify", "--blobs"]);
    expect([code, stdout]).toEqual([5, expect.stringContaining("damage in 1 of 1 session")]);
    expect(stdout).toMatch(/^s: first bad event s#2: s#2: sha256:\w+: the bytes do not have the blob's hash$/m);
    expect(await cli(["messages", "s"])).toMatchObject({ code: 5, stdout: "" });
  });

  test("with --blobs finds damage that is not shown now: on a line that was left, in old state, calls and attachments", async () => {
    const large = () => randomBytes(3000).toString("hex");
    const image = () => ({ type: "image" as const, source: { data: randomBytes(3000), mediaType: "image/png" } });
    const hf = await open(inDirectory("holdfast.db"));
    const scope = { session: "b", agent: "a" };
    await hf.history.append(scope, { role: "user", content: "one" });
    const head = await hf.heads.publish("b");
    await hf.history.append(scope, { role: "assistant", content: large() });
    await hf.history.append(scope, { role: "user", content: [image()] });
    const left = await hf.heads.publish("b");
    await hf.state.set("b", { x: large() });
    await hf.state.set("b", { x: 1 });
    await hf.calls.add("b", { type: "leaf", model: "m", request: large(), result: "r" });
    const tip = await hf.heads.publish("b");
    await hf.sessions.fork(`b@${tip.id}`, { id: "f" });
    await hf.sessions.rewind(`b@${head.id}`);
    await hf.close();
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    const blobs = db.prepare("SELECT no, body FROM blobs WHERE length(body) > 1000").all() as {
      no: number;
      body: Uint8Array;
    }[];
    expect(blobs).toHaveLength(4);
    for (const { no, body } of blobs) {
      const spoil = db.prepare("UPDATE blobs SET body = ? WHERE no = ?");
      spoil.run(new Uint8Array(body.byteLength), no);
      expect(await cli(["verify"])).toMatchObject({ code: 0 });
      for (const named of [[], ["b"], [`b@${left.id}`], ["f"]]) {
        const { code, stdout } = await cli(["verify", ...named, "--blobs"]);
        expect([code, stdout], String(no)).toEqual([
          5,
          expect.stringMatching(/^\w: (first bad event b#\d+: )?b#\d+: sha256:/m),
        ]);
      }
      const { issues } = JSON.parse((await cli(["check", "--json"])).stdout);
      const [issue] = issues.filter(({ kind }: { kind: string }) => kind === "blob-hash-mismatch");
      expect(issue.rows, "whose bytes they are").toEqual([
        expect.stringMatching(/^sha256:/),
        expect.stringMatching(/^b#\d+$/),
      ]);
      spoil.run(body, no);
    }
    expect(await cli(["verify", "--blobs"])).toMatchObject({ code: 0 });
  });

  test("says what --blobs read", async () => {
    const hf = await open(inDirectory("holdfast.db"));
    const source = { data: Buffer.from("a picture"), mediaType: "image/png" };
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: [{ type: "image", source }] });
    await hf.state.set("s", { a: 1, b: 2 });
    await hf.close();
    await fill("s", 1);
    expect(await run("verify", "--blobs")).toContain(
      "all good: 1 session, 4 events, 2 messages, 4 blobs, 2 values of state verified\n",
    );
  });

  test("continues after a session with a damaged row", async () => {
    for (const id of ["one", "two", "three", "four"]) await fill(id, 1);
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    db.exec("UPDATE sessions SET tags = x'00' WHERE id IN ('one', 'three')");
    db.close();
    const { code, stdout } = await cli(["verify", "--json"]);
    const found = JSON.parse(stdout).findings.map(({ session, ok }: { session: string; ok: boolean }) => [session, ok]);
    expect([code, found]).toEqual([
      5,
      [
        ["four", true],
        ["three", false],
        ["two", true],
        ["one", false],
      ],
    ]);
    const named = await cli(["verify", "one", "two"]);
    expect([named.code, named.stdout]).toEqual([5, expect.stringMatching(/^one: .* its tags is not /m)]);
    expect(named.stdout).toMatch(/^ok +two /m);
  });

  test("with --blobs finds a changed row, and continues", async () => {
    await fill("s", 2);
    await fill("fine", 1);
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    db.exec("UPDATE events SET role = 'robot' WHERE seq = 3");
    db.close();
    const { code, stdout } = await cli(["verify", "--blobs"]);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^s: first bad event s#3: the column role does not agree with the envelope$/m);
    expect(stdout).toMatch(/^ok +fine /m);
  });

  test("lists only what is damaged when there are many", async () => {
    for (let i = 0; i < 25; i++) await run("sessions", "create", `s${i}`);
    expect(await run("verify")).toBe("all good: 25 sessions, 25 events verified\n");
  });

  test("shows progress on a terminal", async () => {
    await fill("s", 1);
    const { stderr } = await cli(["verify"], { columns: 80, env: { NO_COLOR: "1" } });
    expect(stderr).toContain("verified 1 session, 2 events …");
    expect(stderr.endsWith("\r\x1b[K")).toBe(true);
  });
});

describe("messages", () => {
  const spoil = (where: string) => {
    const db = new DatabaseSync(inDirectory("holdfast.db"));
    db.exec(`UPDATE events SET words = x'7b7d' WHERE session_no = 1 AND ${where}`);
    db.close();
  };
  const heads = (stdout: string) => [...stdout.matchAll(/^s#(\d+) /gm)].map(([, seq]) => Number(seq));

  test("at a head before a damaged one are printed, and the hint leads past it", async () => {
    await fill("s", 40);
    const head = await within((store) => store.heads.publish("s"));
    const fork = await within(async (store) => {
      await store.sessions.fork(`s@${head.id}`, { id: "f" });
      await store.history.append({ session: "f", agent: "b" }, { role: "user", content: "own" });
      return store.heads.publish("f");
    });
    spoil("seq = 20");
    const at = `s@${head.id}`;
    const { code, stdout, stderr } = await cli(["messages", at, "--limit", "30"]);
    expect([code, heads(stdout)]).toEqual([5, Array.from({ length: 18 }, (_, i) => i + 2)]);
    const [, next = ""] = /`holdfast (messages \S+ --after \S+)` prints the messages after it/.exec(stderr) ?? [];
    expect(heads(await run(...next.replaceAll("'", "").split(" ")))).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 21),
    );
    expect(heads((await cli(["messages", at, "--last", "25"])).stdout)).toEqual([17, 18, 19]);
    expect(heads(await run("messages", at, "--after", "20", "--limit", "2"))).toEqual([21, 22]);
    const byAgent = JSON.parse((await cli(["messages", at, "--agent", "a", "--json"])).stdout);
    expect([byAgent.messages.length, byAgent.damagedSeq, byAgent.total]).toEqual([18, 20, 40]);
    const inherited = await cli(["messages", `f@${fork.id}`]);
    expect([inherited.code, inherited.stderr]).toEqual([5, expect.stringMatching(/--after 's#20'` prints/)]);
    expect(await json("messages", `f@${fork.id}`, "--after", "s#20", "--agent", "b")).toMatchObject({
      total: 1,
      messages: [{ session: "f" }],
    });
    const text = await run("export", at, "--markdown");
    expect(text.match(/^## /gm), "whatever can still be read").toHaveLength(40);
    expect(text).toMatch(/^## 19\. user .*\n\n\*cannot be read: .*is damaged/m);
  });

  test("before a damaged one are printed, with the command that reads the later ones", async () => {
    await fill("s", 40);
    spoil("seq = 20");
    const { code, stdout, stderr } = await cli(["messages", "s", "--limit", "30"]);
    expect([code, heads(stdout)]).toEqual([5, Array.from({ length: 18 }, (_, i) => i + 2)]);
    expect(stderr).toMatch(/^holdfast: message s#20: .* is damaged/);
    expect(stderr).toMatch(
      /hint: only a backup has this message's text; `holdfast messages s --after 's#20'` prints the messages after it\n/,
    );
    expect(heads(await run("messages", "s", "--after", "20"))).toHaveLength(21);
    expect(heads((await cli(["messages", "s", "--last", "25"])).stdout)).toEqual([17, 18, 19]);
    const { messages, damagedSeq } = JSON.parse((await cli(["messages", "s", "--agent", "a", "--json"])).stdout);
    expect([messages.length, damagedSeq]).toEqual([18, 20]);
    expect(await cli(["messages", "s", "--follow"])).toMatchObject({ code: 5 });
  });

  test("behind a damaged one are read by the library too", async () => {
    await fill("s", 4);
    spoil("seq = 2");
    const hf = await open(inDirectory("holdfast.db"));
    await expect(hf.history.session("s")).rejects.toMatchObject({
      code: "BlobCorrupted",
      details: { session: "s", seq: 2 },
      hint: 'Restore the store from a backup to get its text. Read the later messages with after: "s#2".',
    });
    expect(await hf.history.session("s", { after: 2 })).toHaveLength(3);
    await hf.close();
  });
});

describe("blobs", () => {
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256));

  test("are put, described, fetched and verified", async () => {
    writeFileSync(inDirectory("data.bin"), bytes);
    const put = await cli(["blobs", "put", "data.bin", "--ttl", "1h"]);
    const ref = put.stdout.trim();
    expect(ref).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(put.stderr).toMatch(/^100\.0 kB, application\/octet-stream, expires in (60 min|1 h) unless/);
    expect(await run("blobs", "get", ref, "--out", "back.bin")).toBe("wrote 100.0 kB to back.bin\n");
    expect(readFileSync(inDirectory("back.bin")).equals(bytes)).toBe(true);
    expect(await run("blobs", "stat", ref)).toMatch(/^ref +sha256:\S+\nsize +100\.0 kB\nstored +/);
    expect(await json("blobs", "stat", ref.slice(7))).toMatchObject({ ref, size: 100_000, pinned: false });
    expect(await run("blobs", "verify", ref)).toBe(`ok ${ref} (100.0 kB)\n`);
    expect(await json("blobs", "verify", ref)).toEqual({ ref, ok: true, size: 100_000 });
    expect(await json("blobs", "get", ref, "--out", "again.bin")).toEqual({ ref, size: 100_000, file: "again.bin" });
    expect(await run("blobs", "pin", ref)).toBe(`pinned ${ref}\n`);
    expect(await json("blobs", "unpin", ref)).toMatchObject({ ref, pinned: false });
    expect(await cli(["blobs", "rm", ref])).toMatchObject({ code: 2 });
    expect(await run("blobs", "rm", ref, "--yes")).toBe(`deleted ${ref}\n`);
    for (const command of ["get", "stat", "pin", "unpin", "verify"]) {
      expect([command, (await cli(["blobs", command, ref])).code]).toEqual([command, 3]);
    }
  });

  test("come from standard input and go to standard output", async () => {
    const stdin = (async function* () {
      yield Buffer.from("héllo ");
      yield Buffer.from("\x1b[2Jworld\n");
    })();
    const put = await cli(["blobs", "put", "-", "--media-type", "text/plain", "--pin", "--json"], { stdin });
    const { ref, mediaType, pinned } = JSON.parse(put.stdout);
    expect([mediaType, pinned]).toEqual(["text/plain", true]);
    expect(await run("blobs", "get", ref)).toBe("héllo \x1b[2Jworld\n");
    expect((await cli(["blobs", "get", ref], { columns: 80 })).stdout).toBe("héllo \\x1b[2Jworld\n\n");
    expect(await json("blobs", "get", ref)).toMatchObject({ text: "héllo \x1b[2Jworld\n", encoding: "utf-8" });
  });

  test("that are binary do not go to a terminal", async () => {
    writeFileSync(inDirectory("data.bin"), bytes);
    const ref = (await run("blobs", "put", "data.bin", "--ttl", "never")).trim();
    expect(await cli(["blobs", "get", ref], { columns: 80 })).toMatchObject({ code: 2, stdout: "" });
    expect(Buffer.from((await json("blobs", "get", ref)).base64, "base64").equals(bytes)).toBe(true);
  });

  test("that are damaged leave no file behind", async () => {
    const words = "some words that can be found in the file";
    writeFileSync(inDirectory("a.txt"), words);
    const ref = (await run("blobs", "put", "a.txt")).trim();
    const file = inDirectory("holdfast.db");
    const stored = readFileSync(file);
    const at = stored.indexOf(words);
    expect(at).toBeGreaterThan(0);
    stored.write("X", at);
    writeFileSync(file, stored);
    expect(await cli(["blobs", "verify", ref])).toMatchObject({ code: 5 });
    expect(await cli(["blobs", "get", ref, "--out", "out.txt"])).toMatchObject({ code: 5 });
    expect(existsSync(inDirectory("out.txt"))).toBe(false);
    expect(readdirSync(cwd).filter((name) => name.endsWith(".partial"))).toEqual([]);
  });

  test("mistakes have exit codes", async () => {
    expect(await cli(["blobs", "put", "none.bin"])).toMatchObject({ code: 3 });
    expect(await cli(["blobs", "put", "."])).toMatchObject({ code: 2 });
    expect(await cli(["blobs", "get", "sha256:xyz"])).toMatchObject({ code: 2 });
    expect(await cli(["blobs", "put", "x", "--ttl", "soon"])).toMatchObject({ code: 2 });
  });

  test("can live in files", async () => {
    writeFileSync(inDirectory("data.bin"), bytes);
    const ref = (await run("blobs", "put", "data.bin", "--blob-dir", "bytes")).trim();
    expect(await json("blobs", "stat", ref, "--blob-dir", "bytes")).toMatchObject({ store: "file" });
    expect(await run("blobs", "verify", ref, "--blob-dir", "bytes")).toContain("ok");
  });
});

describe("upkeep", () => {
  test("stats prints sizes, counts, savings and the largest sessions", async () => {
    await fill("small", 1);
    await fill("large", 50);
    const text = await run("stats", "--sessions", "1");
    expect(text).toMatch(/^store +\.\/holdfast\.db\ndatabase +[\d.]+ kB\n/);
    expect(text).toMatch(/^sessions +2$/m);
    expect(text).toMatch(/^LARGEST SESSIONS +EVENTS +MESSAGES +CONTENT\nlarge +51 +50 +[\d.]+ (kB|bytes)\n$/m);
    expect(text).toMatch(/^saved +\S+/m);
    const stats = await json("stats");
    expect(stats).toMatchObject({ store: "./holdfast.db", engine: "sqlite", nouns: { sessions: { rows: 2 } } });
    expect(stats.sessions.map(({ id }: { id: string }) => id)).toEqual(["large", "small"]);
  });

  test("stats counts calls, evals, turns and invocations, not the rows they are kept in", async () => {
    const hf = await open(inDirectory("holdfast.db"));
    await hf.sessions.create({ id: "s" });
    const turn = await hf.turns.begin("s");
    for (const _ of [1, 2]) await hf.calls.finish((await hf.calls.start("s", { type: "leaf" })).id, { response: 1 });
    await hf.calls.start("s", { type: "leaf" });
    await hf.evals.add("s", { code: "1", result: 1 });
    await hf.invocations.spawn("s", { session: { id: "child" } }, async () => 1);
    await hf.turns.finish(turn.id);
    await hf.close();
    const { nouns } = await json("stats");
    const counts = [nouns.calls, nouns.evals, nouns.turns, nouns.invocations].map(({ rows }) => rows);
    expect(counts).toEqual([3, 1, 1, 1]);
  });

  test("stats shows the blobs outside the database, and separates deleted sessions from live ones", async () => {
    const kept = ["--store", "kept.db", "--blob-dir", "bytes"];
    await run("init", ...kept);
    writeFileSync(inDirectory("a.bin"), randomBytes(50_000));
    await run("blobs", "put", "a.bin", ...kept);
    for (const id of ["one", "two"]) await run("sessions", "create", id, ...kept);
    await run("sessions", "rm", "two", "--yes", ...kept);
    const text = await run("stats", ...kept);
    expect(text).toMatch(/^database +[\d.]+ kB\noutside it +50\.0 kB of blobs\n/m);
    expect(text).toMatch(/^sessions +1\nsessions deleted +1$/m);
    const stats = await json("stats", ...kept);
    expect(stats).toMatchObject({ nouns: { sessions: { rows: 1, deleted: 1 } }, blobs: { outsideBytes: 50_000 } });
    expect(readdirSync(inDirectory("bytes"), { recursive: true })).not.toEqual([]);
  });

  test("gc lists what it would delete before it deletes", async () => {
    writeFileSync(inDirectory("a.bin"), Buffer.alloc(5000, 1));
    await run("blobs", "put", "a.bin", "--ttl", "1ms");
    const dry = await run("gc", "--dry-run");
    expect(dry).toMatch(/^dry run: nothing was changed\n {2}can be reclaimed: +1 blob, [\d.]+ (kB|bytes)\n/);
    expect(dry.replaceAll("\n", " ")).toContain("The third gc after a blob expired frees it");
    const reports = [];
    for (let i = 0; i < 6; i++) reports.push(await json("gc"));
    expect(reports.reduce((sum, report) => sum + report.deleted, 0)).toBe(1);
    expect(reports.at(-1)).toMatchObject({ dryRun: false, deleted: 0 });
    expect(await run("gc")).toMatch(/^collected, epoch \d+\n {2}deleted +0 blobs, 0 bytes\n/);
  });

  test("LG6 gc --vacuum writes the database anew, and its help says what that takes", async () => {
    expect(await run("gc", "--vacuum")).toContain("The database was rewritten.");
    expect(await run("gc")).not.toContain("written anew");
    const help = (await run("gc", "--help")).replace(/\s+/g, " ");
    expect(help).toContain("needs space for a second copy");
    expect(help).toContain("all writers wait until it is done");
  });

  test("migrate says that there is nothing to do", async () => {
    expect(await run("migrate")).toMatch(/^\.\/holdfast\.db has schema \d+ already; nothing to do\n$/);
    const report = await json("migrate");
    expect(report).toMatchObject({ migrated: false, engine: "sqlite", before: report.after });
  });
});
