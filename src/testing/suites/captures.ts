// The suite of the captures contract: what coding agents left on disk, saved by generations and kept for a while.
import assert from "node:assert/strict";
import type { NewCapture, NewCapturedFile } from "../../contracts/captures.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { CALLER_MISTAKES, isSameBytes, noise, present, prose, range, refOf, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { expiryCases, removalCases } from "./captures-expiry.ts";
import { bare, bytes, captured, ID, idOf, readAll, transcript } from "./captures-fixture.ts";
import { moreCases } from "./captures-more.ts";

export function runCapturesSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `captures: ${name}`,
    [
      ...savingCases,
      ...bundleCases,
      ...findingCases,
      ...generationCases,
      ...expiryCases,
      ...removalCases,
      ...hostileCases,
      ...moreCases,
    ],
    make,
    options,
  );
}

const savingCases: readonly Case[] = [
  prove("CA1 what is read is byte for byte what was saved", ["captures", "blobs"], async ({ captures, blobs }) => {
    const files: NewCapturedFile[] = [
      transcript(prose(300_000, 3)),
      { role: "subagent", path: `project/${ID}/subagents/agent-a1.jsonl`, content: noise(70_000, 4), grows: true },
      { role: "tool-result", path: `project/${ID}/tool-results/x y.txt`, content: bytes("\u0000\ufffd") },
      { role: "file-history", path: `file-history/${ID}/ab@v1`, content: new Uint8Array(0) },
    ];
    const saved = await captures.save(
      captured({ files, configDir: "/home/me/.claude", key: "-srv-app", agentVersion: "2.1.325" }),
    );
    assert.equal(saved.fileCount, 4);
    assert.equal(
      saved.size,
      files.reduce((sum, { content }) => sum + (content as Uint8Array).byteLength, 0),
    );
    assert.deepEqual(
      [saved.cwd, saved.configDir, saved.key, saved.agentVersion],
      ["/srv/app", "/home/me/.claude", "-srv-app", "2.1.325"],
    );
    const found = await captures.files(saved.id);
    assert.deepEqual(found, saved.files);
    assert.deepEqual(
      found.map(({ path }) => path),
      files.map(({ path }) => path).toSorted(),
    );
    for (const { path, content } of files) {
      isSameBytes(await readAll(captures, saved.id, path), content as Uint8Array, path);
      assert.equal(found.find((one) => one.path === path)?.ref, refOf(content as Uint8Array));
    }
    await refuses("NotFound", () => readAll(captures, saved.id, "project/other.jsonl"));
    const [named] = await blobs.referrers(present(found[0]).ref);
    assert.deepEqual([named?.kind, named?.id, named?.how], ["capture", saved.id, "attachment"]);
  }),

  prove("CA2 a longer transcript costs about what was added", ["captures", "stats"], async ({ captures, stats }) => {
    const whole = prose(2_000_000, 8);
    let last = await captures.save(captured({ files: [transcript(whole.subarray(0, 1_000_000))] }));
    const before = (await stats()).blobs.storedBytes;
    for (const n of range(20)) {
      const files = [transcript(whole.subarray(0, 1_000_000 + (n + 1) * 10_000))];
      last = await captures.save(captured({ files, basis: bare(last) }));
    }
    const added = (await stats()).blobs.storedBytes - before;
    assert.ok(added < 500_000, `200,000 added bytes cost ${added}`);
    isSameBytes(await readAll(captures, last.id, `project/${ID}.jsonl`), whole.subarray(0, 1_200_000));
  }),

  prove(
    "CA1 a file that is a blob already is named, not sent again",
    ["captures", "blobs"],
    async ({ captures, blobs }) => {
      const ref = await blobs.store(bytes("as it was"), { ttlMs: 60_000 });
      const notes: NewCapturedFile = { role: "other", path: "project/notes.txt", content: { ref } };
      const files = [transcript(bytes("{}\n")), notes];
      const saved = await captures.save(captured({ files }));
      isSameBytes(await readAll(captures, saved.id, "project/notes.txt"), bytes("as it was"));
      const none = refOf(bytes("never stored"));
      const missing = [{ ...transcript(bytes("")), content: { ref: none } }];
      await refuses("BlobNotFound", () => captures.save(captured({ request: "req-2", files: missing })));
    },
  ),

  prove("CA1 what a capture holds outlives the time of its blobs", ["captures", "blobs", "clock"], async (nouns) => {
    const { captures, blobs, clock } = nouns;
    const saved = await captures.save(captured({ ttlMs: null }));
    await clock.advance(30 * 24 * 3_600_000);
    for (const _ of range(4)) await blobs.gc();
    isSameBytes(await readAll(captures, saved.id, `project/${ID}.jsonl`), bytes('{"type":"user"}\n'));
  }),

  prove(
    "CA7 a capture has a session of its request, and the log says what was saved",
    ["captures", "sessions", "log"],
    async (nouns) => {
      const { captures, sessions, log } = nouns;
      const saved = await captures.save(captured());
      const session = present(await sessions.get(saved.session));
      assert.equal(session.request, "req-1");
      await captures.save(captured({ files: [transcript(bytes("{}\n{}\n"))] }));
      const items = await log.read(saved.session);
      assert.deepEqual(
        items.map(({ type }) => type).filter((type) => type.startsWith("capture/")),
        ["capture/saved", "capture/saved"],
      );
      assert.ok((await log.verify(saved.session)).ok);
    },
  ),
];

const bundleCases: readonly Case[] = [
  prove(
    "CA6 a bundle holds all of a capture, and a store that never saw it takes it",
    ["captures"],
    async ({ captures }) => {
      const files = [
        transcript(prose(200_000, 5)),
        { role: "task", path: `tasks/${ID}/1.json`, content: bytes("{}") },
      ] as const;
      const saved = await captures.save(captured({ files, agentVersion: "2.1.325" }));
      const bundle = await captures.getBundle(saved.id);
      assert.ok(bundle.byteLength < saved.size, "it is compressed");
      await captures.delete(saved.id);
      const again = await captures.putBundle(bundle, { request: "req-2", ttlMs: null });
      assert.deepEqual(
        [again.request, again.sessionId, again.agentVersion, again.expiresAt],
        ["req-2", ID, "2.1.325", null],
      );
      for (const { path, content } of files)
        isSameBytes(await readAll(captures, again.id, path), content as Uint8Array, path);
    },
  ),

  prove("CA6 a bundle that is not whole saves nothing", ["captures"], async ({ captures }) => {
    const saved = await captures.save(captured({ files: [transcript(noise(5000, 2))] }));
    const bundle = await captures.getBundle(saved.id);
    await captures.delete(saved.id);
    const changed = (at: number) => bundle.map((byte, i) => (i === at ? byte ^ 1 : byte));
    const damaged = [
      new Uint8Array(0),
      bytes("hello"),
      bundle.subarray(0, 8),
      bundle.subarray(0, -1),
      bundle.subarray(0, 40),
      changed(0),
      changed(7),
      changed(20),
      changed(bundle.length >> 1),
      changed(bundle.length - 1),
    ];
    for (const [n, one] of damaged.entries()) {
      await refuses("ArchiveCorrupted", () => captures.putBundle(one, { request: "req-2" }), `bundle ${n}`);
    }
    await refuses([...CALLER_MISTAKES], () => captures.putBundle("text" as never, { request: "req-2" }));
    assert.deepEqual((await captures.list()).items, []);
  }),
];

const findingCases: readonly Case[] = [
  prove("CA5 several of a request, the newest first; one by its session", ["captures"], async ({ captures }) => {
    assert.equal(await captures.latest("req-1"), null);
    const first = await captures.save(captured());
    const second = await captures.save(captured({ sessionId: idOf(1) }));
    const third = await captures.save(captured({ request: "req-2", agent: "opencode", sessionId: "ses_1" }));
    assert.equal((await captures.latest("req-1"))?.id, second.id);
    assert.equal((await captures.latest("req-2"))?.id, third.id);
    assert.equal(await captures.latest("req-2", "claude-code"), null);
    assert.equal((await captures.bySession(ID))?.id, first.id);
    assert.equal(await captures.bySession("nobody"), null);
    // Saved again, it is the newest again.
    await captures.save(captured());
    assert.equal((await captures.latest("req-1"))?.id, first.id);
    const again = await captures.save(captured({ request: "req-3" }));
    assert.equal((await captures.bySession(ID))?.id, again.id, "of all requests that have one of the session");
    assert.equal((await captures.get(first.id))?.request, "req-1");
    assert.equal(await captures.get("cap_none"), null);
  }),

  prove("CA5 the list comes in pages and by filters", ["captures"], async ({ captures }) => {
    const made: string[] = [];
    for (const n of range(7)) {
      made.unshift((await captures.save(captured({ request: `req-${n % 2}`, sessionId: idOf(n) }))).id);
    }
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await captures.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.next;
    }
    assert.deepEqual(seen, made);
    assert.equal((await captures.list({ request: "req-1" })).items.length, 3);
    assert.deepEqual(
      (await captures.list({ request: "req-1", sessionId: idOf(1) })).items.map(({ id }) => id),
      [made[5]],
    );
    assert.equal((await captures.list({ sessionId: idOf(2), agent: "opencode" })).items.length, 0);
  }),
];

const generationCases: readonly Case[] = [
  prove("CA8 a later save is the next generation of the same capture", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured());
    const second = await captures.save(captured({ files: [transcript(bytes("{}\n"))], basis: bare(first) }));
    assert.deepEqual([first.generation, second.generation, second.id], [1, 2, first.id]);
    assert.equal(second.createdAt, first.createdAt);
    assert.equal((await captures.list()).items.length, 1);
    assert.equal((await captures.files(first.id)).length, 1);
  }),

  prove("CA8 a save that does not continue the newest generation is refused", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured({ basis: null }));
    await captures.save(captured({ basis: bare(first), files: [transcript(bytes("theirs\n"))] }));
    const late = await refuses("Conflict", () => captures.save(captured({ basis: bare(first) })));
    assert.equal(late.details.generation, 2);
    await refuses("Conflict", () => captures.save(captured({ basis: null })));
    isSameBytes(await readAll(captures, first.id, `project/${ID}.jsonl`), bytes("theirs\n"));
  }),

  prove(
    "CA8 what went another way is kept beside the newest, and a person chooses",
    ["captures"],
    async ({ captures }) => {
      const first = await captures.save(captured({ basis: null }));
      await captures.save(captured({ basis: bare(first), files: [transcript(bytes("a\n"))] }));
      const apart = await captures.save(
        captured({ basis: bare(first), onConflict: "keep", files: [transcript(bytes("b\n"))] }),
      );
      assert.equal(apart.diverged, true);
      assert.notEqual(apart.id, first.id);
      assert.equal((await captures.latest("req-1"))?.id, first.id);
      // It goes on by itself.
      const further = await captures.save(
        captured({ basis: bare(apart), onConflict: "keep", files: [transcript(bytes("b\nc\n"))] }),
      );
      assert.deepEqual([further.id, further.generation, further.diverged], [apart.id, 2, true]);
      assert.equal((await captures.list()).items.length, 1);
      assert.equal((await captures.list({ diverged: true })).items.length, 2);
      const preferred = await captures.prefer(apart.id);
      assert.equal(preferred.diverged, false);
      assert.equal((await captures.latest("req-1"))?.id, apart.id);
      assert.equal((await captures.get(first.id))?.diverged, true);
      isSameBytes(await readAll(captures, apart.id, `project/${ID}.jsonl`), bytes("b\nc\n"));
      isSameBytes(await readAll(captures, first.id, `project/${ID}.jsonl`), bytes("a\n"));
    },
  ),

  prove(
    "CA8 if two machines save at once, one of them succeeds",
    ["captures", "another"],
    async ({ captures, another }) => {
      const first = await captures.save(captured({ basis: null }));
      const others = [await another(), await another()];
      const outcomes = await Promise.allSettled(
        [captures, ...others.map((one) => one.captures)].map((one, n) =>
          one.save(captured({ basis: bare(first), files: [transcript(bytes(`${n}\n`))] })),
        ),
      );
      assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
      for (const one of outcomes) if (one.status === "rejected") assert.equal(one.reason.code, "Conflict");
      assert.equal((await captures.latest("req-1"))?.generation, 2);
    },
  ),

  prove("CA8 of two that begin at once, one is the newest", ["captures", "another"], async ({ captures, another }) => {
    const other = (await another()).captures;
    const saved = await Promise.all(
      [captures, other].map((one, n) =>
        one.save(captured({ basis: null, onConflict: "keep", files: [transcript(bytes(`${n}\n`))] })),
      ),
    );
    assert.deepEqual(saved.map(({ diverged }) => diverged).toSorted(), [false, true]);
    assert.equal((await captures.list({ diverged: true })).items.length, 2);
  }),
];

const hostileCases: readonly Case[] = [
  prove("CA3 paths that could lead elsewhere are refused, and nothing is saved", ["captures"], async ({ captures }) => {
    const paths = [
      "/etc/passwd",
      "../x",
      "a/../b",
      "a//b",
      "./a",
      "a/.",
      "",
      "a\\b",
      "C:\\x",
      "a\u0000b",
      "con",
      "aux.txt",
      "nul/x",
      "a/",
      "a.",
      "a ",
      "\ud800",
      `a/${"b".repeat(300)}`,
      range(40).join("/"),
    ];
    for (const path of paths) {
      const files = [transcript(bytes("{}\n")), { role: "other", path, content: bytes("x") } as const];
      await refuses([...CALLER_MISTAKES], () => captures.save(captured({ files })), JSON.stringify(path));
    }
    assert.deepEqual((await captures.list()).items, []);
  }),

  prove("ST7 what is no capture is refused", ["captures"], async ({ captures }) => {
    const file = { role: "other", path: "a", content: bytes("x") } as const;
    const bad: unknown[] = [
      null,
      1,
      {},
      { ...captured(), agent: "cursor" },
      { ...captured(), request: "" },
      { ...captured(), extra: 1 },
      { ...captured(), files: [file, file] },
      { ...captured(), files: [{ ...file, role: "key" }] },
      { ...captured(), files: [{ ...file, content: "text" }] },
      { ...captured(), ttlMs: -1 },
      { ...captured(), basis: { id: "cap_1" } },
      { ...captured(), onConflict: "win" },
      { ...captured(), cwd: "\ud800" },
      { ...captured(), files: new Array(LIMITS.captureFiles + 1).fill(file) },
    ];
    for (const [n, one] of bad.entries())
      await refuses([...CALLER_MISTAKES], () => captures.save(one as NewCapture), `capture ${n}`);
    await refuses("InvalidId", () => captures.latest(""));
    await refuses([...CALLER_MISTAKES], () => captures.list({ limit: -1 }));
    assert.deepEqual((await captures.list()).items, []);
  }),

  prove(
    "CA3 a file that could not be restored is not saved, nor accepted in a bundle",
    ["captures"],
    async ({ captures }) => {
      const notes = { role: "other", path: "project/notes.txt", content: bytes("x") } as const;
      const exported = (id: string) => ({ role: "export", path: `export/${id}.json`, content: bytes("{}") }) as const;
      const bad: readonly Partial<NewCapture>[] = [
        { files: [] },
        { files: [notes] },
        { files: [{ ...transcript(bytes("")), role: "other" } as const] },
        { files: [transcript(bytes(""), idOf(1))] },
        { files: [exported(ID)] },
        ...["x", "ses_1", "../../etc", `${ID}0`, "'; DROP TABLE captures; --"].map((sessionId) => ({ sessionId })),
        ...[ID, "ses_", "ses_../x", "ses_a b"].map((sessionId) => ({ agent: "opencode" as const, sessionId })),
        { agent: "opencode", sessionId: "ses_1", files: [exported("ses_2")] },
        { agent: "opencode", sessionId: "ses_1", files: [transcript(bytes(""))] },
      ];
      for (const [n, one] of bad.entries()) {
        await refuses("InvalidArgument", () => captures.save(captured(one)), `capture ${n}`);
      }
      const { agent, sessionId, cwd } = captured();
      const origin = { agent, sessionId, cwd, configDir: null, key: null, agentVersion: null };
      const listed = { role: notes.role, path: notes.path, size: 1, ref: refOf(notes.content), stored: 1 };
      const list = bytes(JSON.stringify({ ...origin, files: [listed], v: 1 }));
      // Not above: an old Node has no zstd, and is to be told so by open().
      const { encodeBundle } = await import("../../core/bundle.ts");
      const bundle = encodeBundle(list, [notes.content]);
      await refuses("InvalidArgument", async () => captures.putBundle(await bundle, { request: "req-1" }));
      assert.deepEqual((await captures.list()).items, []);
    },
  ),

  prove("ST5 hostile names of requests and sessions are plain data", ["captures"], async ({ captures }) => {
    for (const [n, name] of ["'; DROP TABLE captures; --", "../../etc", "%", "\u{1f600}", "a b\nc", "{}"].entries()) {
      const saved = await captures.save(captured({ request: name, sessionId: idOf(n) }));
      assert.equal((await captures.latest(name))?.id, saved.id);
      assert.equal(await captures.bySession(name), null);
      assert.equal((await captures.list({ request: name })).items.length, 1);
    }
  }),
];
