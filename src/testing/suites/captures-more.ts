// More of the captures contract: what bundles of strangers lose, whose files go, and what a sweep comes to.
import assert from "node:assert/strict";
import type { Captures, NewCapture, NewCapturedFile } from "../../contracts/captures.ts";
import { isSameBytes, noise, range } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";
import { bare, bytes, ID, idOf, readAll } from "./captures-fixture.ts";

const SES = "ses_e1a396178ffeYBc36HXpSQZbv6";
const HOUR = 3_600_000;
/** While so many saves replace each other, another handle reads. */
const SAVES = scaled({ short: 20, long: 200 });

function captured(more: Partial<NewCapture> = {}): NewCapture {
  const { sessionId = ID } = more;
  const files: NewCapturedFile[] = [{ role: "transcript", path: `project/${sessionId}.jsonl`, content: bytes("{}\n") }];
  return { request: "req-1", agent: "claude-code", sessionId, cwd: "/srv/app", files, ...more };
}

/** As it is in a store that took the bundle of another. */
async function sendBundle(captures: Captures, capture: NewCapture) {
  const { id } = await captures.save(capture);
  return captures.putBundle(await captures.getBundle(id), { request: "req-2" });
}

const strangers: readonly Case[] = [
  prove("CA6 scripts that the agent would run are not saved from a bundle", ["captures"], async ({ captures }) => {
    const files: NewCapturedFile[] = [
      { role: "transcript", path: `project/${ID}.jsonl`, content: noise(5000, 1), grows: true },
      { role: "other", path: `session-env/${ID}/hook-0.sh`, content: bytes("touch pwned\n") },
    ];
    const taken = await sendBundle(captures, captured({ files }));
    assert.deepEqual(
      taken.files.map(({ path }) => path),
      [`project/${ID}.jsonl`],
    );
    assert.deepEqual(
      taken.left.map(({ path }) => path),
      [`session-env/${ID}/hook-0.sh`],
    );
    isSameBytes(await readAll(captures, taken.id, `project/${ID}.jsonl`), noise(5000, 1));
  }),

  prove("CA6 what a bundle allows the agent is not saved", ["captures"], async ({ captures }) => {
    const deny = { permission: "question", pattern: "*", action: "deny" };
    const info = { id: SES, title: "t" };
    const allow = { permission: "*", pattern: "*", action: "allow" };
    const content = (more: object) => bytes(JSON.stringify({ info: { ...info, ...more }, messages: [] }));
    const path = `export/${SES}.json`;
    const opencode = (more: object) =>
      captured({ agent: "opencode", sessionId: SES, files: [{ role: "export", path, content: content(more) }] });
    const bad = await sendBundle(
      captures,
      opencode({ permission: [deny, allow], share: { url: "https://x.example" } }),
    );
    const { info: kept } = JSON.parse(Buffer.from(await readAll(captures, bad.id, path)).toString());
    assert.deepEqual(kept, { ...info, permission: [deny] });
    assert.equal(bad.left.length, 2);
    const good = await sendBundle(captures, opencode({ permission: [deny] }));
    isSameBytes(await readAll(captures, good.id, path), content({ permission: [deny] }));
    assert.deepEqual(good.left, []);
  }),
];

const generations: readonly Case[] = [
  prove(
    "BL2 the bytes that a save no longer names are free at once",
    ["captures", "clock", "stats"],
    async ({ captures, clock, stats }) => {
      const other = (content: Uint8Array): NewCapturedFile[] => [
        ...captured().files,
        { role: "other", path: "project/a", content },
      ];
      const first = await captures.save(captured({ files: other(noise(80_000, 3)) }));
      // What is on its way in lives for an hour without a row.
      await clock.advance(HOUR + 1);
      const before = (await stats()).blobs.storedBytes;
      await captures.save(captured({ files: other(bytes("x")), basis: bare(first) }));
      const freed = before - (await stats()).blobs.storedBytes;
      assert.ok(freed > 70_000, `${freed} bytes of 80,000 are free`);
    },
  ),

  prove("CA8 no save continues the capture of another request", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured());
    const other = await captures.save(captured({ request: "req-2", basis: bare(first) }));
    assert.notEqual(other.id, first.id);
    assert.deepEqual([other.generation, other.diverged], [1, false]);
    assert.equal((await captures.latest("req-1"))?.id, first.id);
  }),

  prove("CA7 a capture stays in the session that has its log", ["captures", "check"], async ({ captures, check }) => {
    const first = await captures.save(captured({ session: "here" }));
    const second = await captures.save(captured({ session: "elsewhere", basis: bare(first) }));
    assert.deepEqual([first.session, second.session, second.generation], ["here", "here", 2]);
    assert.deepEqual((await check()).issues, []);
  }),

  prove(
    "CA7 saves at once that name different sessions end in one of them",
    ["captures", "check"],
    async ({ captures, check }) => {
      const saves = range(6).map((n) => captures.save(captured({ session: `named-${n}` })));
      const saved = (await Promise.all(saves)).toSorted((a, b) => a.generation - b.generation);
      assert.deepEqual(
        saved.map(({ id, generation, session }) => [id, generation, session]),
        range(6).map((n) => [saved[0]?.id, n + 1, saved[0]?.session]),
      );
      assert.deepEqual((await check()).issues, []);
    },
  ),

  prove("CA8 of two preferred at once in different sessions, one is", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured());
    const beside = await Promise.all(
      range(4).map((n) => captures.save(captured({ session: `s${n}`, basis: null, onConflict: "keep" }))),
    );
    assert.deepEqual(
      beside.map(({ diverged, session }) => [diverged, session]),
      range(4).map((n) => [true, `s${n}`]),
    );
    await captures.delete(first.id);
    await Promise.all(beside.map(({ id }) => captures.prefer(id)));
    const kept = (await captures.list({ request: "req-1", diverged: true })).items;
    assert.deepEqual(kept.map(({ diverged }) => diverged).toSorted(), [false, true, true, true]);
  }),

  prove(
    "CA7 two requests that continue one agent's session have their own logs",
    ["captures", "sessions"],
    async ({ captures, sessions }) => {
      const one = await captures.save(captured());
      const two = await captures.save(captured({ request: "req-2" }));
      assert.notEqual(one.session, two.session);
      assert.equal((await captures.save(captured({ request: "req-2", basis: bare(two) }))).session, two.session);
      await sessions.delete(one.session);
      assert.deepEqual(
        [await captures.latest("req-1"), (await captures.latest("req-2"))?.id],
        [null, two.id],
        "what one erases is not the other's",
      );
    },
  ),

  prove(
    "CA7 an imported session gets the captures of the first request, also when that request returns",
    ["captures", "sessions"],
    async ({ captures, sessions }) => {
      const { id } = await sessions.create({ id: `claude-code/${ID}`, request: "local" });
      const one = await captures.save(captured());
      assert.equal(one.session, id);
      assert.equal((await sessions.get(id))?.request, "req-1");
      await captures.delete(one.id);
      assert.equal((await captures.save(captured())).session, id);
      assert.notEqual((await captures.save(captured({ request: "req-2" }))).session, id);
    },
  ),

  prove(
    "CA5 a capture that continues an expired one replaces it",
    ["captures", "clock"],
    async ({ captures, clock }) => {
      const old = await captures.save(captured({ ttlMs: HOUR }));
      await clock.advance(HOUR);
      const next = await captures.save(captured({ basis: null, onConflict: "keep" }));
      assert.deepEqual([next.id, next.generation, next.diverged], [old.id, 2, false]);
      assert.equal((await captures.latest("req-1"))?.id, old.id);
    },
  ),

  prove("CA8 one that was kept beside another is the newest when that is gone", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured());
    const beside = await captures.save(captured({ basis: null, onConflict: "keep" }));
    assert.equal(beside.diverged, true);
    await captures.delete(first.id);
    const next = await captures.save(captured({ basis: bare(beside), onConflict: "keep" }));
    assert.deepEqual([next.id, next.diverged], [beside.id, false]);
    assert.equal((await captures.latest("req-1"))?.id, beside.id);
  }),

  prove("CA8 a read beside saves gives the files of one save", ["captures", "another"], async (nouns) => {
    const { captures } = nouns;
    const reader = (await nouns.another()).captures;
    const path = `project/${ID}.jsonl`;
    // No save's files begin with those before, so that none of their blobs stays.
    const textOf = (n: number) => `${JSON.stringify({ save: n })}\n`.repeat(400);
    const save = (n: number, basis: { readonly id: string; readonly generation: number } | null) =>
      captures.save(captured({ files: [{ role: "transcript", path, content: bytes(textOf(n)) }], basis }));
    let latest = await save(0, null);
    let isDone = false;
    const saving = (async () => {
      for (const n of range(SAVES)) latest = await save(n + 1, bare(latest));
      isDone = true;
    })();
    const texts = new Set(range(SAVES + 1).map(textOf));
    while (!isDone) {
      const found = Buffer.from(await readAll(reader, latest.id, path)).toString();
      assert.ok(texts.has(found), "the file of one save, whole");
      const [file] = await reader.files(latest.id);
      assert.equal(file?.path, path);
      assert.ok((await reader.getBundle(latest.id)).byteLength > 0);
    }
    await saving;
  }),

  prove("CA5 a sweep takes all that has expired", ["captures", "clock"], async ({ captures, clock }) => {
    const made = range(203);
    await Promise.all(made.map((n) => captures.save(captured({ request: `req-${n}`, sessionId: idOf(n), ttlMs: 10 }))));
    await clock.advance(11);
    assert.equal((await captures.deleteExpired({ dryRun: true })).removed.length, made.length);
    assert.equal((await captures.deleteExpired()).removed.length, made.length);
    assert.deepEqual((await captures.deleteExpired()).removed, []);
  }),
];

export const moreCases: readonly Case[] = [...strangers, ...generations];
