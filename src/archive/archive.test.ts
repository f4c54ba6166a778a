// Archives forged with care: every checksum of the file is right, and what it says is not.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fillStore } from "../testing/everything.ts";
import { isLong } from "../testing/scale.ts";
import { archiveFile, encodeFrame, type Frame, readFrames } from "./frames.ts";

async function gather(source: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source) pieces.push(piece);
  return pieces;
}

async function sealAgain(frames: readonly Frame[]): Promise<Uint8Array[]> {
  async function* encoded() {
    for (const { kind, bytes } of frames) yield encodeFrame(kind, bytes);
  }
  return gather(archiveFile(encoded()));
}

/** Made once: nothing changes the frames. */
let made: Promise<readonly Frame[]> | undefined;

function archived(): Promise<readonly Frame[]> {
  made ??= makeArchive();
  return made;
}

async function makeArchive(): Promise<readonly Frame[]> {
  const store = await open(":memory:");
  const scope = { session: "chat", agent: "ada" };
  await store.history.append(scope, { role: "user", content: "the words" });
  await store.history.append(scope, { role: "user", content: "long ".repeat(1000), key: "k" });
  await store.state.set("chat", { a: 1 });
  await store.calls.add("chat", { type: "leaf", request: { q: 1 }, result: 2 });
  await store.log.annotate("chat", { n: 1 });
  await store.heads.publish("chat", { final: 1, vars: { x: 1 }, finalSummary: "one" });
  await store.heads.publish("chat");
  await store.tasks.create("chat", ["one"]);
  await store.sessions.fork("chat", { id: "fork" });
  await store.heads.publish("fork");
  const frames: Frame[] = [];
  for await (const frame of readFrames(await gather(store.sessions.export("fork")))) frames.push(frame);
  await store.close();
  return frames;
}

type Lines = [table: string, row: Record<string, unknown>][];

/** The same file with other rows. */
function withRows(frames: readonly Frame[], change: (lines: Lines) => Lines | undefined): readonly Frame[] {
  const rows = frames.filter(({ kind }) => kind === "rows").map(({ bytes }) => Buffer.from(bytes).toString("utf8"));
  const lines = rows
    .join("")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line)) as Lines;
  const changed = change(lines) ?? lines;
  const text = `${changed.map((line) => JSON.stringify(line)).join("\n")}\n`;
  const manifest = JSON.parse(Buffer.from(frames[0]?.bytes ?? []).toString("utf8"));
  return [
    { kind: "manifest", bytes: Buffer.from(JSON.stringify({ ...manifest, rows: changed.length })) },
    ...frames.filter(({ kind }) => kind === "blob" || kind === "data"),
    { kind: "rows", bytes: Buffer.from(text) },
  ];
}

const rowOf = (lines: Lines, table: string, fits: (row: Record<string, unknown>) => boolean = () => true) => {
  const found = lines.find(([name, row]) => name === table && fits(row))?.[1];
  if (found === undefined) throw new Error(`no row of ${table}`);
  return found;
};

const fullHead = (lines: Lines) => rowOf(lines, "heads", (row) => "final_summary" in row);

const set = (row: Record<string, unknown>, cells: Record<string, unknown>): undefined => void Object.assign(row, cells);

const FORGERIES: readonly (readonly [what: string, change: (lines: Lines) => Lines | undefined])[] = [
  [
    "another text",
    (lines) =>
      set(
        rowOf(lines, "events", (row) => "words" in row),
        { words: '{"content":[]}' },
      ),
  ],
  ["another envelope", (lines) => set(rowOf(lines, "events"), { body: "{}" })],
  ["an event that is left out", (lines) => lines.filter(([table, row]) => table !== "events" || row.seq !== 2)],
  [
    "an inherited event that is left out",
    (lines) => lines.filter(([table, row]) => table !== "events" || row.session !== "chat" || row.seq !== 1),
  ],
  [
    "inherited events in another order",
    (lines) => {
      const isOne = ([table, row]: Lines[number]) => table === "events" && row.session === "chat";
      return [...lines.filter((line) => !isOne(line)), ...lines.filter(isOne).reverse()];
    },
  ],
  [
    "heads in another order",
    (lines) => {
      const isOne = ([table, row]: Lines[number]) => table === "heads" && row.session === "chat";
      return [...lines.filter((line) => !isOne(line)), ...lines.filter(isOne).reverse()];
    },
  ],
  ["an event that is there twice", (lines) => [...lines, ["events", rowOf(lines, "events")]]],
  [
    "another role",
    (lines) =>
      set(
        rowOf(lines, "events", (row) => "role" in row),
        { role: "system" },
      ),
  ],
  ["another salt", (lines) => set(rowOf(lines, "state"), { salt: { base64: Buffer.alloc(16).toString("base64") } })],
  [
    "an annotation's blob that is another's",
    (lines) => set(rowOf(lines, "annotations"), { payload: rowOf(lines, "state").value }),
  ],
  ["a head of another id", (lines) => set(rowOf(lines, "heads"), { id: `hd-${"0".repeat(64)}` })],
  [
    "a head with other counts",
    (lines) =>
      set(rowOf(lines, "heads"), { root: String(rowOf(lines, "heads").root).replace('"messages":2', '"messages":3') }),
  ],
  ["a head with another fingerprint", (lines) => set(fullHead(lines), { fingerprint: "another" })],
  ["a head with another summary", (lines) => set(fullHead(lines), { final_summary: "another" })],
  ["a head without its summary", (lines) => set(fullHead(lines), { final_summary: undefined })],
  ["a head without its snapshot", (lines) => set(fullHead(lines), { snapshot_seq: undefined })],
  ["a head of another turn", (lines) => set(fullHead(lines), { turn_seq: 2 })],
  ["a head with another cache id", (lines) => set(fullHead(lines), { cache_id: "another" })],
  ["a head of another status", (lines) => set(rowOf(lines, "heads"), { status: "aborted" })],
  ["a fork of somewhere else", (lines) => set(rowOf(lines, "branches"), { cut_seq: 1 })],
  ["a status that does not exist", (lines) => set(rowOf(lines, "calls"), { status: "great" })],
  [
    "a session's status that does not exist",
    (lines) =>
      set(
        rowOf(lines, "sessions", (row) => row.id === "fork"),
        { status: "x" },
      ),
  ],
  [
    "a shorter log",
    (lines) =>
      set(
        rowOf(lines, "sessions", (row) => row.id === "fork"),
        { seq: 1 },
      ),
  ],
  ["a blob that is not in it", (lines) => set(rowOf(lines, "snapshots"), { vars: "0".repeat(64) })],
  ["a row of another session", (lines) => set(rowOf(lines, "state"), { session: "other" })],
  ["a row of no event", (lines) => set(rowOf(lines, "state"), { seq: 4000 })],
  ["a row of no table", (lines) => [...lines, ["holdfast_meta", { name: "schema", value: "9" }]]],
  ["a column that does not exist", (lines) => set(rowOf(lines, "calls"), { no: 7 })],
  ["a column that is missing", (lines) => set(rowOf(lines, "calls"), { type: undefined })],
  ["a number that is none", (lines) => set(rowOf(lines, "calls"), { seq: "1; DROP TABLE events" })],
  [
    "an id with a NUL",
    (lines) =>
      set(
        rowOf(lines, "events", (row) => "agent" in row),
        { agent: "a\0b" },
      ),
  ],
  [
    "metadata that is not JSON",
    (lines) =>
      set(
        rowOf(lines, "sessions", (row) => row.id === "fork"),
        { metadata: "{" },
      ),
  ],
  ["bytes that are no base64", (lines) => set(rowOf(lines, "state"), { salt: { base64: "???" } })],
  ["a line that is no row", (lines) => [...lines, null as never]],
];

/** Words, which no log repeats, and what is only a hint (docs/checker.md). */
const UNBOUND = new Set([
  "sessions.title",
  "sessions.metadata",
  "heads.final_summary",
  "heads.cache_id",
  "invocations.label",
  "events.chars",
  "boards.label",
  "tasks.title",
  "tasks.note",
]);
/** Of a session that came in part, when it came. */
const WRITTEN_ANEW = ["deleted_at", "updated_at"];

/** Other cells for one; without what a link says, its event says it. */
function forgedCells(table: string, column: string, cell: unknown): readonly unknown[] {
  const gone = table === "invocations" && /^(callee|source)_/.test(column) ? [] : [undefined];
  if (typeof cell === "number") return [cell + 1, ...(cell === 0 ? [] : [0]), ...gone];
  if (typeof cell === "string" && /^[0-9a-f]{64}$/.test(cell))
    return [cell.replace(/^./, cell[0] === "a" ? "b" : "a"), ...gone];
  return typeof cell === "string" ? [`${cell}x`, ...gone] : gone;
}

/**
 * Of every column of every table one row of a session that comes whole, and one of a session that comes in part: forged in
 * one of the ways there are, another for each cell, or in all of them.
 */
function* everyCell(frames: readonly Frame[]): Generator<readonly [what: string, forged: readonly Frame[]]> {
  const seen = new Set<string>();
  const lines: Lines = [];
  withRows(frames, (all) => void lines.push(...all));
  for (const [i, [table, row]] of lines.entries()) {
    for (const [column, cell] of Object.entries(row)) {
      const what = `${table}.${column} of ${row.session ?? row.id}`;
      const isAnew = row.deleted_at !== undefined && WRITTEN_ANEW.includes(column);
      if (UNBOUND.has(`${table}.${column}`) || isAnew || seen.has(what)) continue;
      seen.add(what);
      const ways = forgedCells(table, column, cell);
      for (const forged of isLong ? ways : ways.slice(seen.size % ways.length).slice(0, 1)) {
        yield [
          `${what} = ${String(forged).slice(0, 80)}`,
          withRows(frames, (all) =>
            all.map((line, k): Lines[number] => (k === i ? [table, { ...row, [column]: forged }] : line)),
          ),
        ];
      }
    }
  }
}

async function framesOf(store: Holdfast, session: string, children = true): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(await gather(store.sessions.export(session, { children })))) frames.push(frame);
  return frames;
}

async function isEmpty(store: Holdfast): Promise<boolean> {
  const { nouns, blobs } = await store.stats();
  return nouns.sessions?.rows === 0 && nouns.sessions.deleted === 0 && nouns.events?.rows === 0 && blobs.count === 0;
}

describe("a forged archive", () => {
  test("AR2 as it was exported it is accepted", async () => {
    const store = await open(":memory:");
    expect((await store.sessions.import(await sealAgain(await archived()))).sessions[0]?.outcome).toBe("imported");
    await store.close();
  });

  describe("in an empty store", () => {
    let store: Holdfast;
    beforeAll(async () => {
      store = await open(":memory:");
    });
    afterAll(() => store.close());

    test.each(FORGERIES)("AR2 with %s is refused, and nothing of it stays", async (_, change) => {
      const file = await sealAgain(withRows(await archived(), change));
      await expect(store.sessions.import(file)).rejects.toMatchObject({ code: "ArchiveCorrupted" });
      expect(await isEmpty(store)).toBe(true);
    });
  });

  test("AR2 with other bytes of a blob, or none, is refused", async () => {
    const frames = await archived();
    const data = frames.findIndex(({ kind }) => kind === "data");
    const changed = frames.map((frame, i) =>
      i === data ? { ...frame, bytes: frame.bytes.map((byte) => byte ^ 1) } : frame,
    );
    const without = frames.filter((_, i) => i !== data);
    const twice = [...frames.slice(0, data + 1), ...frames.slice(data - 1)];
    const late = [...frames, ...frames.slice(data - 1, data + 1)];
    for (const forged of [changed, without, twice, late]) {
      const store = await open(":memory:");
      await expect(store.sessions.import(await sealAgain(forged))).rejects.toMatchObject({ code: "ArchiveCorrupted" });
      expect(await isEmpty(store)).toBe(true);
      await store.close();
    }
  });

  test.each(["chat", "fork"])(
    "AR2 with any cell of %s forged is refused",
    async (session) => {
      const source = await open(":memory:");
      await fillStore({ ...source, lineage: source });
      await source.tasks.create("chat", ["one", "two"]);
      await source.invocations.spawn("chat", { session: { id: "child" } }, (child) =>
        source.heads.publish(child.session),
      );
      const frames = await framesOf(source, session);
      await source.close();
      const store = await open(":memory:");
      const accepted: string[] = [];
      for (const [what, forged] of everyCell(frames)) {
        const outcome = await store.sessions.import(await sealAgain(forged)).then(
          () => "imported",
          (error) => error.code,
        );
        if (outcome !== "ArchiveCorrupted") accepted.push(`${what}: ${outcome}`);
      }
      expect(accepted).toEqual([]);
      expect(await isEmpty(store)).toBe(true);
      await store.close();
    },
    60_000,
  );

  test("AR2 that would link its invocations to another store's session is refused", async () => {
    const source = await open(":memory:");
    await source.sessions.create({ id: "caller" });
    await source.invocations.spawn("caller", { session: { id: "child" } }, (child) =>
      source.heads.publish(child.session),
    );
    const frames = await framesOf(source, "caller", false);
    await source.close();
    const store = await open(":memory:");
    await store.sessions.create({ id: "mine" });
    const { id } = await store.heads.publish("mine");
    for (const forged of [{ callee_session: "mine" }, { callee_head_after: id }, { caller_head_after: id }]) {
      const file = await sealAgain(
        withRows(frames, (lines) => {
          set(
            rowOf(lines, "invocations", (row) => row.status === "done"),
            forged,
          );
          return lines;
        }),
      );
      await expect(store.sessions.import(file)).rejects.toMatchObject({ code: "ArchiveCorrupted" });
    }
    expect((await store.sessions.import(await sealAgain(frames))).rows).toBeGreaterThan(0);
    await store.close();
  });

  test("AR2 of very many short rows is refused like any other", async () => {
    const store = await open(":memory:");
    const [manifest] = (await archived()) as [Frame];
    const line = '["session_tags",{"session":"fork","tag":"t"}]\n';
    const forged: Frame[] = [manifest, { kind: "rows", bytes: Buffer.from(line.repeat(200_000)) }];
    await expect(store.sessions.import(await sealAgain(forged))).rejects.toMatchObject({ code: "ArchiveCorrupted" });
    await store.close();
  });

  const BOMBS: readonly (readonly [what: string, kind: "rows" | "manifest", text: () => string])[] = [
    ["newlines", "rows", () => "\n".repeat(60_000_000)],
    ["a row of nothing but lists", "rows", () => `["sessions",[${"[],".repeat(20_000_000)}[]]]\n`],
    ["lists in what it says of itself", "manifest", () => `{"sessions":[${"[],".repeat(20_000_000)}[]]}`],
  ];
  test.each(BOMBS)("AR2 of a few bytes that unfold to %s is refused before they do", async (_what, kind, text) => {
    const store = await open(":memory:");
    const [manifest] = (await archived()) as [Frame];
    const said = JSON.parse(Buffer.from(manifest.bytes).toString("utf8"));
    const first: Frame = {
      kind: "manifest",
      bytes: Buffer.from(JSON.stringify({ ...said, blobs: 0, rows: 100_000_000 })),
    };
    const bomb: Frame = { kind, bytes: Buffer.from(text()) };
    const file = await sealAgain(kind === "manifest" ? [bomb] : [first, bomb]);
    const before = process.memoryUsage().rss;
    await expect(store.sessions.import(file)).rejects.toMatchObject({
      code: expect.stringMatching(/^(ArchiveCorrupted|LimitExceeded)$/),
    });
    expect((process.memoryUsage().rss - before) / 1e6).toBeLessThan(500);
    await store.close();
  });

  test("AR2 without what it goes on from says that its source is damaged, not to export it again", async () => {
    const store = await open(":memory:");
    const frames = withRows(await archived(), (lines) =>
      lines.filter(([table, row]) => (table === "sessions" ? row.id : row.session) !== "chat"),
    );
    const [first, ...rest] = frames as [Frame, ...Frame[]];
    const said = JSON.parse(Buffer.from(first.bytes).toString("utf8"));
    const sessions = said.sessions.filter(({ id }: { id: string }) => id !== "chat");
    const file = await sealAgain([
      { kind: "manifest", bytes: Buffer.from(JSON.stringify({ ...said, sessions })) },
      ...rest,
    ]);
    await expect(store.sessions.import(file)).rejects.toMatchObject({
      code: "ArchiveCorrupted",
      message: expect.stringContaining("refers to a session that is not in the archive"),
      hint: expect.stringMatching(/^(?!.*xport it again).*holdfast check/),
    });
    await store.close();
  });

  test("AR2 that is no bytes at all is the caller's mistake, also when it throws", async () => {
    const store = await open(":memory:");
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const throwing = new Proxy(
      {},
      {
        get() {
          throw new Error("no");
        },
      },
    );
    const wrapped = new Proxy(new Uint8Array(3), {});
    for (const source of [revoked.proxy, throwing, [revoked.proxy], [throwing], [wrapped], 1, null, "text", [1]]) {
      await expect(store.sessions.import(source as never)).rejects.toMatchObject({ code: "InvalidArgument" });
    }
    await store.close();
  });

  test("AR2 the first issues are named", async () => {
    const store = await open(":memory:");
    const forged = withRows(await archived(), (lines) => set(rowOf(lines, "calls"), { status: "failed" }));
    await expect(store.sessions.import(await sealAgain(forged))).rejects.toMatchObject({
      code: "ArchiveCorrupted",
      details: { issueCount: 1, issues: [{ kind: "row-mismatch", details: { table: "calls", column: "status" } }] },
    });
    await store.close();
  });

  test("AR2 with any one bit of it changed is refused", async () => {
    const source = await open(":memory:");
    await source.history.append({ session: "s", agent: "a" }, { role: "user", content: "short" });
    const file = Buffer.concat(await gather(source.sessions.export("s")));
    await source.close();
    const store = await open(":memory:");
    const accepted: number[] = [];
    for (const i of file.keys()) {
      const flipped = Buffer.from(file);
      flipped[i] = (flipped[i] ?? 0) ^ 1;
      await store.sessions.import(flipped).then(
        () => accepted.push(i - file.length),
        () => {},
      );
    }
    expect(accepted).toEqual([]);
    await store.close();
  });

  test("AR2 that says impossible things of itself is refused", async () => {
    const [, ...frames] = await archived();
    const store = await open(":memory:");
    const chain = "0".repeat(64);
    for (const manifest of [
      {},
      [],
      { session: "a", sessions: [], blobs: 0, rows: 0 },
      { session: "a", sessions: [{ id: "a", seq: -1, chain, whole: true }], blobs: 0, rows: 0 },
      { session: "a", sessions: [{ id: "a", seq: 1, chain: "x", whole: true }], blobs: 0, rows: 0 },
      { session: "a", sessions: [{ id: "a\0", seq: 1, chain, whole: true }], blobs: 0, rows: 0 },
      { session: "a", sessions: [{ id: "a", seq: 1, chain, whole: true }], blobs: 1e300, rows: 0 },
    ]) {
      const first: Frame = { kind: "manifest", bytes: Buffer.from(JSON.stringify(manifest)) };
      await expect(store.sessions.import(await sealAgain([first, ...frames]))).rejects.toMatchObject({
        code: "ArchiveCorrupted",
      });
    }
    await store.close();
  });
});
