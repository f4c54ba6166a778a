// A session is saved again and again: what changed and nothing else, from what it goes on from, whatever the store does meanwhile.
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Capture, Captures, NewCapture } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { realEnvironment } from "../core/environment.ts";
import { open } from "../open.ts";
import { sourceOfCapture } from "./capture-source.ts";
import { findClaudeSession, projectKey } from "./claude/session-files.ts";
import { Saver, type SaverOptions } from "./saver.ts";

const SESSION = "11111111-1111-4111-8111-111111111111";
const OTHER = "22222222-2222-4222-8222-222222222222";
const key = ["AK", "IAQ3EGRT7KLMNOPZZ7"].join("");
const HOUR = 3_600_000;

let folder: string;
let hf: Holdfast;
let now: number;
beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "holdfast-saver-"));
  now = Date.now();
  hf = await open(":memory:", { environment: { ...realEnvironment(), now: () => now } });
});
afterEach(async () => {
  await hf.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A machine with the session on it. */
class Machine {
  readonly configDir = path.join(folder, randomUUID());
  readonly project = path.join(this.configDir, "projects", projectKey(folder));
  readonly transcript = path.join(this.project, `${SESSION}.jsonl`);
  readonly aside = path.join(this.project, SESSION, "tool-results", "one.txt");

  constructor(...says: string[]) {
    mkdirSync(path.dirname(this.aside), { recursive: true });
    this.say(...says);
    writeFileSync(this.aside, "output");
    this.rest();
  }

  say(...words: string[]): void {
    for (const text of words) {
      const message = { role: "user", content: text };
      appendFileSync(
        this.transcript,
        `${JSON.stringify({ type: "user", uuid: `u-${text.length}`, sessionId: SESSION, message })}\n`,
      );
    }
  }

  /** What was written a moment ago is read again, whatever its time says. */
  rest(): void {
    for (const file of [this.transcript, this.aside]) utimesSync(file, now / 1000 - 60, now / 1000 - 60);
  }

  saver(more: Partial<SaverOptions> = {}): Saver {
    return new Saver({ captures: hf.captures, environment: { now: () => now }, request: "r", ...more });
  }

  find() {
    return findClaudeSession({ sessionId: SESSION, configDir: this.configDir, cwd: folder });
  }

  async save(saver: Saver) {
    return saver.save(await this.find());
  }
}

const newest = async () => {
  const capture = await hf.captures.latest("r");
  if (capture === null) throw new Error("there is none");
  const pieces: Uint8Array[] = [];
  for await (const piece of hf.captures.read(capture.id, `project/${SESSION}.jsonl`)) pieces.push(piece);
  const text = Buffer.concat(pieces).toString("utf8");
  return [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join(" ");
};

describe("CA2 saving again", () => {
  test("reads what changed, names the rest, and saves nothing when nothing did", async () => {
    const machine = new Machine("one");
    const saver = machine.saver({ basis: null });
    expect(await machine.save(saver)).toMatchObject({ read: 2, capture: { generation: 1 } });
    expect(await machine.save(saver)).toBeNull();
    machine.say("two");
    expect(await machine.save(saver)).toMatchObject({ read: 1, capture: { generation: 2 } });
    // The same size and time, and another file.
    writeFileSync(`${machine.aside}.new`, "OUTPUT");
    utimesSync(`${machine.aside}.new`, now / 1000 - 60, now / 1000 - 60);
    renameSync(`${machine.aside}.new`, machine.aside);
    expect(await machine.save(saver)).toMatchObject({ capture: { generation: 3 } });
    rmSync(machine.aside);
    expect(await machine.save(saver)).toMatchObject({ capture: { generation: 4, fileCount: 1 } });
  });

  test("what was written in the moment in which it was read is read again", async () => {
    const machine = new Machine("one");
    const stamp = now / 1000;
    utimesSync(machine.aside, stamp, stamp);
    const saver = machine.saver({ basis: null });
    await machine.save(saver);
    writeFileSync(machine.aside, "OUTPUT");
    utimesSync(machine.aside, stamp, stamp);
    expect(await machine.save(saver)).toMatchObject({ capture: { generation: 2 } });
  });

  test("CA4 lines that came between the find and the read are saved at once, and the version that wrote them next time", async () => {
    const machine = new Machine("one");
    const withVersion = (version: string) =>
      appendFileSync(machine.transcript, `${JSON.stringify({ type: "user", sessionId: SESSION, version })}\n`);
    withVersion("2.1.0");
    const saver = machine.saver({ basis: null });
    const found = await machine.find();
    withVersion("2.0.0");
    machine.rest();
    expect(await saver.save(found)).toMatchObject({ capture: { generation: 1, agentVersion: "2.1.0" } });
    expect(await machine.save(saver)).toMatchObject({ capture: { generation: 2, agentVersion: "2.0.0" } });
    expect(await machine.save(saver)).toBeNull();
  });

  test("a file that became a link since it was listed is left out", async () => {
    const machine = new Machine("one");
    const found = await machine.find();
    writeFileSync(path.join(folder, "secret"), "secret");
    rmSync(machine.aside);
    symlinkSync(path.join(folder, "secret"), machine.aside);
    const saved = await machine.saver({ basis: null }).save(found);
    expect(saved).toMatchObject({ gone: [`project/${SESSION}/tool-results/one.txt`], capture: { fileCount: 1 } });
  });

  test("what adds nothing to what was put back is no new generation", async () => {
    const machine = new Machine("one");
    const first = await machine.save(machine.saver({ basis: null }));
    const basis = await sourceOfCapture(hf.captures, first?.capture.id ?? "");
    expect(await new Machine("one").save(machine.saver({ basis }))).toBeNull();
    expect(await hf.captures.latest("r")).toMatchObject({ generation: 1 });
  });

  test("a capture that was removed meanwhile is made again, whole", async () => {
    const machine = new Machine("one");
    const saver = machine.saver({ basis: null });
    await machine.save(saver);
    await hf.captures.deleteForRequest("r");
    now += 2 * HOUR;
    for (let round = 0; round < 5; round++) await hf.blobs.gc();
    machine.say("two");
    expect(await machine.save(saver)).toMatchObject({ read: 2, capture: { generation: 1, fileCount: 2 } });
    expect(await newest()).toBe("one two");
  });

  test("an agent that waits keeps its session: half its time over, it is kept as long again, and is no newer for it", async () => {
    const machine = new Machine("one");
    const saver = machine.saver({ basis: null, ttlMs: HOUR });
    await machine.save(saver);
    const expiry = async () => (await hf.captures.list({ request: "r", sessionId: SESSION })).items[0]?.expiresAt;
    now += HOUR / 4;
    expect(await machine.save(saver)).toBeNull();
    expect(await expiry()).toBe(now + (3 * HOUR) / 4);
    const path = `project/${OTHER}.jsonl`;
    const other = await hf.captures.save({
      request: "r",
      agent: "claude-code",
      sessionId: OTHER,
      cwd: "/w",
      files: [{ role: "transcript", path, content: Buffer.from("{}\n") }],
    });
    for (const later of [HOUR / 2, HOUR / 2, HOUR / 2]) {
      now += later;
      expect(await machine.save(saver)).toBeNull();
      expect(await expiry()).toBe(now + HOUR);
    }
    expect((await hf.captures.latest("r"))?.id).toBe(other.id);
  });

  test("ST3 how long a capture is kept goes by the store's clock, whatever the machine's says", async () => {
    const machine = new Machine("one");
    const [wrong, clock] = [{ now: () => now + 48 * HOUR }, hf.clock];
    const saver = machine.saver({ basis: null, ttlMs: HOUR, environment: wrong, clock });
    const expiresAt = (await machine.save(saver))?.capture.expiresAt;
    expect(expiresAt).toBe(now + HOUR);
    expect(await machine.save(saver)).toBeNull();
    expect((await hf.captures.latest("r"))?.expiresAt).toBe(expiresAt);
  });

  test("with secrets replaced it takes the place of one in which they were left", async () => {
    const machine = new Machine("one", `the key is ${key}`);
    await machine.save(machine.saver());
    expect(await newest()).toContain(key);
    machine.say("two");
    expect(await machine.save(machine.saver({ mask: true }))).toMatchObject({
      capture: { diverged: false, generation: 2 },
    });
    expect(await newest()).not.toContain(key);
  });

  test("CA1 a secret that was masked once is masked in every file, also in what was saved before", async () => {
    const secret = "hunter2pass";
    const all = async () => {
      const [capture] = (await hf.captures.list({ request: "r" })).items;
      const parts: string[] = [];
      for (const { path: name } of await hf.captures.files(capture?.id ?? "")) {
        for await (const piece of hf.captures.read(capture?.id ?? "", name)) parts.push(Buffer.from(piece).toString());
      }
      return parts.join("");
    };
    const machine = new Machine("log in as me", `the answer was "${secret}"`);
    writeFileSync(machine.aside, `echo ${secret}\n`);
    machine.rest();
    const saver = machine.saver({ basis: null, mask: true });
    await machine.save(saver);
    expect(await all()).toContain(secret);
    machine.say(`curl -u me:${secret} https://host`);
    expect(await machine.save(saver)).toMatchObject({ capture: { diverged: false, generation: 2 }, read: 2 });
    expect(await all()).not.toContain(secret);
    machine.say(`it is ${secret}!`);
    expect(await machine.save(saver)).toMatchObject({ capture: { diverged: false, generation: 3 }, read: 1 });
    expect(await all()).not.toContain(secret);
    // Another process learns them from the files.
    machine.say(`again ${secret}, and token=${key.toLowerCase()}9Zz`);
    expect(await machine.save(machine.saver({ mask: true }))).toMatchObject({
      capture: { diverged: false, generation: 4 },
    });
    expect(await all()).not.toContain(secret);
  });

  test("one that was removed while its agent waits is saved anew", async () => {
    const machine = new Machine("one");
    const saver = machine.saver({ basis: null, ttlMs: HOUR });
    await machine.save(saver);
    await hf.captures.deleteForRequest("r");
    now += HOUR / 2;
    expect(await machine.save(saver)).toMatchObject({ capture: { generation: 1, diverged: false } });
    expect(await newest()).toBe("one");
  });

  test("a transcript that lost its beginning is kept beside the whole one", async () => {
    for (const rest of ["", '{"type":"user","message":{"content":"only this"}}\n', `${"x".repeat(200_000)}\n`]) {
      await hf.captures.deleteForRequest("r");
      const machine = new Machine("one", "two", "three");
      const saver = machine.saver({ basis: null });
      await machine.save(saver);
      machine.say("four");
      expect(await machine.save(saver)).toMatchObject({ capture: { generation: 2 } });
      writeFileSync(machine.transcript, rest);
      expect(await machine.save(saver)).toMatchObject({ capture: { diverged: true } });
      expect(await newest()).toBe("one two three four");
    }
  });

  test("also when it was put back, and lost it before the first save", async () => {
    const first = new Machine("one", "two");
    const saved = await first.save(first.saver({ basis: null }));
    const basis = { ...(saved?.capture as Capture), files: await hf.captures.files(saved?.capture.id ?? "") };
    const cut = new Machine("three");
    expect(await cut.save(cut.saver({ basis }))).toMatchObject({ capture: { diverged: true } });
    expect(await newest()).toBe("one two");
    const whole = new Machine("one", "two", "three");
    expect(await whole.save(whole.saver({ basis }))).toMatchObject({ capture: { diverged: false, generation: 2 } });
  });
});

describe("CA8 what a save goes on from", () => {
  test("where nobody says it, the newest if this goes on from it, and otherwise it is kept beside", async () => {
    const ahead = new Machine("one", "two");
    await ahead.save(ahead.saver());
    const stale = new Machine("one");
    expect(await stale.save(stale.saver())).toMatchObject({ capture: { diverged: true } });
    expect(await newest()).toBe("one two");
    ahead.say("three");
    expect(await ahead.save(ahead.saver())).toMatchObject({ capture: { diverged: false, generation: 2 } });
  });

  test("a save that was done and not answered is known again", async () => {
    const machine = new Machine("one");
    let cuts = 2;
    const captures: Captures = {
      ...hf.captures,
      save: async (capture: NewCapture) => {
        const saved = await hf.captures.save(capture);
        if (cuts-- > 0) throw new HoldfastError("StoreUnreachable", "cut off", { retryable: true });
        return saved;
      },
    };
    const saver = machine.saver({ captures, basis: null });
    await expect(machine.save(saver)).rejects.toThrow("cut off");
    machine.say("two");
    await expect(machine.save(saver)).rejects.toThrow("cut off");
    machine.say("three");
    expect(await machine.save(saver)).toMatchObject({ capture: { diverged: false, generation: 3 } });
    expect(await newest()).toBe("one two three");
    expect((await hf.captures.list({ diverged: true })).items).toHaveLength(1);
  });
});

describe("CA1 likely secrets are told once", () => {
  test("also after a save that failed, of a line that came in two pieces, and of a file that was written anew", async () => {
    const machine = new Machine("one");
    let fails = true;
    const save = (capture: NewCapture) => {
      if (fails) throw new HoldfastError("StoreUnreachable", "not there");
      return hf.captures.save(capture);
    };
    const saver = machine.saver({ captures: { ...hf.captures, save: async (capture) => save(capture) }, basis: null });
    machine.say(key);
    await expect(machine.save(saver)).rejects.toThrow("not there");
    fails = false;
    expect((await machine.save(saver))?.secrets).toMatchObject([{ line: 2 }]);
    appendFileSync(machine.transcript, `{"content":"${key.slice(0, 9)}`);
    expect((await machine.save(saver))?.secrets).toEqual([]);
    appendFileSync(machine.transcript, `${key.slice(9)}"}\n`);
    expect((await machine.save(saver))?.secrets).toMatchObject([{ line: 3 }]);
    machine.say("more");
    expect((await machine.save(saver))?.secrets).toEqual([]);
    writeFileSync(machine.transcript, `${"anew\n".repeat(200)}${key}\n`);
    expect((await machine.save(saver))?.secrets).toMatchObject([{ line: 201 }]);
  });
});
