// Every column of a head's row is bound by the head's id, its root or its event: whichever is changed, the checker sees
// it. And heads whose roots are of version 1, which said less, are as valid as they were.
import { createReadStream, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CheckKind } from "../../src/contracts/check.ts";
import { TABLES } from "../../src/contracts/storage/tables.ts";
import { open } from "../../src/open.ts";
import { casesFor, ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";

/** Places in the order of creation: one with everything, one with nothing, one that compacts, one of a fork. */
const [FULL, BARE, COMPACTED, OF_FORK] = [0, 2, 3, 4];
const OTHER = Buffer.from("another");
const SALT = new Uint8Array(16).fill(7);
const SNAPSHOT = "(SELECT min(s.seq) FROM snapshots s WHERE s.session_no = heads.session_no)";
const BLOB = "(SELECT max(s.vars) FROM snapshots s WHERE s.session_no = heads.session_no)";

type Cell = string | Uint8Array;
type PlantedCell = readonly [
  column: string,
  place: number,
  value: string | null | { readonly cell: Cell },
  kind: CheckKind,
];

/** A string is SQL. */
const PLANTED: readonly PlantedCell[] = [
  ["id", BARE, { cell: `hd-${"0".repeat(64)}` }, "head-id-wrong"],
  ["session_no", OF_FORK, "(SELECT no FROM sessions WHERE id = 'chat')", "row-without-event"],
  ["branch", BARE, "branch + 1", "row-mismatch"],
  ["seq", BARE, "seq - 1", "row-without-event"],
  ["basis_no", BARE, null, "head-id-wrong"],
  ["status", BARE, { cell: "aborted" }, "head-id-wrong"],
  ["chain", BARE, "(SELECT s.chain FROM sessions s WHERE s.no = heads.session_no)", "head-chain-wrong"],
  ["root", BARE, "(SELECT max(h.root) FROM heads h WHERE h.session_no <> heads.session_no)", "head-root-wrong"],
  ["final", FULL, BLOB, "commitment-mismatch"],
  ["final", FULL, null, "commitment-mismatch"],
  ["salt", FULL, { cell: SALT }, "commitment-mismatch"],
  ["salt", FULL, null, "commitment-mismatch"],
  ["salt", FULL, "NULL, final = NULL, final_summary = NULL", "commitment-mismatch"],
  ["salt", FULL, "NULL, final = NULL, final_summary = NULL", "head-root-wrong"],
  ["salt", BARE, { cell: SALT }, "commitment-mismatch"],
  ["final_summary", FULL, { cell: OTHER }, "head-root-wrong"],
  ["final_summary", FULL, null, "head-root-wrong"],
  ["final_summary", BARE, { cell: OTHER }, "head-root-wrong"],
  ["snapshot_seq", FULL, SNAPSHOT, "head-root-wrong"],
  ["snapshot_seq", FULL, null, "head-root-wrong"],
  ["snapshot_seq", BARE, SNAPSHOT, "head-root-wrong"],
  ["fingerprint", FULL, { cell: "another" }, "head-root-wrong"],
  ["fingerprint", BARE, { cell: "another" }, "head-root-wrong"],
  ["turn_seq", FULL, null, "row-mismatch"],
  ["cache_id", FULL, { cell: "another" }, "head-root-wrong"],
  ["cache_id", OF_FORK, null, "head-root-wrong"],
  ["at", BARE, "at + 1", "row-mismatch"],
];

type ParsedRoot = { readonly counts: Readonly<Record<string, number>>; readonly compaction?: object };

/** What a root says, changed in itself: the kind tells that it was compared with the rows, and not only with the id. */
const ROOTS: readonly (readonly [
  what: string,
  place: number,
  change: (root: ParsedRoot) => ParsedRoot,
  kind: CheckKind,
])[] = [
  [
    "the count of messages of a fork's head",
    OF_FORK,
    (root) => ({ ...root, counts: { ...root.counts, messages: 99 } }),
    "head-root-wrong",
  ],
  [
    "the count of calls that a fork's head inherits",
    OF_FORK,
    (root) => ({ ...root, counts: { ...root.counts, calls: 99 } }),
    "head-root-wrong",
  ],
  [
    "the compaction that a head keeps of the one before it",
    OF_FORK,
    (root) => ({ ...root, compaction: { ...root.compaction, upTo: "chat#1" } }),
    "head-root-wrong",
  ],
  [
    "a compaction that no event made",
    FULL,
    (root) => ({ compaction: { summary: "chat#1", upTo: "chat#1" }, ...root }),
    "head-root-wrong",
  ],
  [
    "what the head that makes a compaction says of it",
    COMPACTED,
    (root) => ({ ...root, compaction: { ...root.compaction, upTo: "chat#1" } }),
    "head-id-wrong",
  ],
];

test("SE10 a change of every column of a head is tried", () => {
  const tried = new Set(PLANTED.map(([column]) => column));
  expect([...tried, "no"].sort()).toEqual(Object.keys(TABLES.heads.columns).sort());
});

for (const engine of ENGINES) {
  describe(`heads on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    test.each(casesFor(engine, PLANTED, (one) => one[3]))(
      "SE10 another %s of head %i is named (%j)",
      async (column, place, value, kind) => {
        const id = store.filled.heads[place] ?? "";
        const [text, params] =
          value === null ? ["NULL", []] : typeof value === "string" ? [value, []] : ["?", [value.cell]];
        await store.run(`UPDATE heads SET ${column} = ${text} WHERE id = ?`, ...params, id);
        const { issues } = await store.check("deep");
        const rows = [id, ...(column === "id" ? [`hd-${"0".repeat(64)}`] : [])];
        const named = issues.filter((issue) => issue.rows.some((row) => rows.includes(row)));
        expect(named.map((issue) => issue.kind)).toContain(kind);
      },
    );

    test.each(casesFor(engine, ROOTS, (one) => one[3]))("SE10 %s is derived anew", async (_, place, change, kind) => {
      const id = store.filled.heads[place] ?? "";
      const [row] = await store.read("SELECT root FROM heads WHERE id = ?", id);
      const root = Buffer.from(row?.root as Uint8Array).toString();
      const changed = JSON.stringify(change(JSON.parse(root)));
      expect(changed).not.toBe(root);
      await store.run("UPDATE heads SET root = ? WHERE id = ?", Buffer.from(changed), id);
      const named = (await store.check("deep")).issues.filter(({ rows }) => rows.includes(id));
      expect(named.map((issue) => issue.kind)).toEqual([kind]);
    });
  });

  test(`LG6 heads of a session deleted everywhere are sound without what they carried (${engine.name})`, async () => {
    const ground = await engine.fresh();
    const hf = await open(ground.url);
    try {
      for (const [i, given] of [
        { finalSummary: "s" },
        { final: 1, finalSummary: "s", vars: { a: 1 } },
        { final: 1 },
      ].entries()) {
        await hf.history.append({ session: `gone ${i}`, agent: "a" }, { role: "user", content: "words" });
        const head = await hf.heads.publish(`gone ${i}`, given);
        await hf.sessions.fork(`gone ${i}@${head.id}`, { id: `fork ${i}` });
        await hf.sessions.delete(`gone ${i}`, { everywhere: true });
      }
      expect((await hf.check()).issues).toEqual([]);
    } finally {
      await hf.close();
      await ground.end();
    }
  });

  test(`SE1 heads with roots of version 1 are valid, and others are published on them (${engine.name})`, async () => {
    const ground = await engine.fresh();
    const hf = await open(ground.url);
    try {
      for (const name of ["heads-1", "heads-1-fork"]) {
        const file = path.join(import.meta.dirname, `../fixtures/${name}.holdfast`);
        await hf.sessions.import(createReadStream(file));
        const parts: Uint8Array[] = [];
        for await (const part of hf.sessions.export(name === "heads-1" ? "old" : "old fork")) parts.push(part);
        expect(Buffer.concat(parts).equals(readFileSync(file)), "exported as it came").toBe(true);
      }
      expect((await hf.check()).issues).toEqual([]);
      const { items } = await hf.heads.list("old", { order: "oldest" });
      expect(items.map(({ finalSummary, cacheId }) => [finalSummary, cacheId])).toEqual([
        ["done", "c-1"],
        ["without a value", null],
        [null, null],
        [null, null],
      ]);
      const before = await hf.heads.current("old");
      const head = await hf.heads.publish("old", { finalSummary: "on an old one" });
      expect(head.basis).toBe(before?.id);
      expect(head.counts).toEqual(before?.counts);
      await hf.heads.publish("old fork");
      expect((await hf.check()).issues).toEqual([]);
    } finally {
      await hf.close();
      await ground.end();
    }
  });
}
