// How the checker looks: at bytes outside the database, twice before it reports, with a bounded list, one session alone.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runCheck } from "../../src/check/check.ts";
import { KINDS } from "../../src/check/kinds.ts";
import { LIMITS } from "../../src/contracts/limits.ts";
import type { Storage } from "../../src/contracts/storage/storage.ts";
import { fromRef, toHex } from "../../src/core/bytes.ts";
import { fileBlobs } from "../../src/storage/blobs/file.ts";
import { ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";
import { DAMAGES } from "./damages.ts";

for (const engine of ENGINES) {
  describe(`the checker on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    test("SE10 what is gone at the second look is no issue", async () => {
      const seen = new Map<string, number>();
      const wavering: Storage = Object.assign(Object.create(store.storage), {
        examine: () => store.storage.examine(),
        query: async (name: string, params: never) => {
          const rows = await store.storage.query(name as "check.session", params);
          const read = name + JSON.stringify(params);
          const times = (seen.get(read) ?? 0) + 1;
          seen.set(read, times);
          if (name === "check.session" && times === 1)
            return rows.map((row) => ({ ...row, head_no: 99_999, head: null }));
          if (name === "check.calls" && times === 1) return rows.map((row) => ({ ...row, event_type: null }));
          return rows;
        },
      });
      const report = await runCheck(wavering, store.hf.blobs, { mode: "deep" });
      expect(report.issues).toEqual([]);
    });

    test("SE10 a check lets others have the event loop between its reads", async () => {
      let turns = 0;
      let over = false;
      const others = () => {
        turns++;
        if (!over) setImmediate(others);
      };
      others();
      await store.hf.check();
      over = true;
      expect(turns).toBeGreaterThan(5);
    });

    test("SE10 all issues are counted, the first are listed", async () => {
      const many = LIMITS.checkIssues + 200;
      await store.run(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many}) ` +
          "INSERT INTO aliases (name, session_no, created_at) SELECT 'stray-' || i, 99999, 1 FROM n",
      );
      const report = await store.hf.check({ mode: "quick" });
      expect([report.issueCount, report.issues.length]).toEqual([many, LIMITS.checkIssues]);
    });

    test("SE10 one session is checked with its blobs, whatever else is damaged", async () => {
      await DAMAGES["blob-hash-mismatch"](store);
      await DAMAGES["seq-gap"](store);
      expect((await store.hf.check({ session: "work" })).issues).toEqual([]);
      const inherited = (await store.hf.check({ session: "fork" })).issues;
      expect(inherited, "what it inherits").toEqual([
        expect.objectContaining({
          kind: "blob-hash-mismatch",
          rows: [expect.stringMatching(/^sha256:/), expect.stringMatching(/^chat#/)],
          details: expect.objectContaining({ inheritedBy: "fork" }),
        }),
      ]);
      const kinds = (await store.hf.check({ session: "chat" })).issues.map(({ kind }) => kind);
      expect(kinds.sort()).toEqual(["blob-hash-mismatch", "seq-gap"]);
    });

    test("SE10 damage of several kinds is named one by one, with the rows", async () => {
      await DAMAGES["message-count-wrong"](store);
      await DAMAGES["row-mismatch"](store);
      const { issues } = await store.hf.check();
      expect(issues).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ kind: "message-count-wrong", rows: ["chat"] }),
          expect.objectContaining({ kind: "row-mismatch", rows: [store.filled.rootCall] }),
        ]),
      );
      expect(issues).toHaveLength(2);
    });

    test("SE9 causes that lead in a circle are walked once", async () => {
      const [row] = await store.read("SELECT first_seq, seq FROM invocations WHERE status = 'done' AND type = 'spawn'");
      await store.run(
        "UPDATE invocations SET call_seq = ? WHERE first_seq = ?",
        Number(row?.seq),
        Number(row?.first_seq),
      );
      const { causes, more } = await store.hf.causes(`chat#${row?.seq}`);
      const ids = causes.map(({ id }) => id);
      expect(ids).toContain(`chat#${row?.first_seq}`);
      expect(ids).not.toContain(`chat#${row?.seq}`);
      expect([new Set(ids).size, more]).toEqual([ids.length, false]);
      expect(causes.some(({ session, type }) => session === "child" && type === "head/created")).toBe(true);
    });
  });

  describe(`the checker with blobs in files beside ${engine.name}`, () => {
    let store: DamagedStore;
    let folder: string;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "holdfast-check-"));
      store = await filledStore(engine, { blobs: fileBlobs(folder) });
    });
    afterAll(async () => {
      await store.end();
      rmSync(folder, { recursive: true, force: true });
    });

    const fileOf = async () => {
      const final = (await store.hf.heads.get(store.filled.heads[0] ?? ""))?.finalRef ?? "";
      const hex = toHex(fromRef(final) ?? new Uint8Array());
      const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
      const name = names.find((one) => one.includes(`${hex}-`));
      return { ref: final, path: join(folder, name ?? "") };
    };

    /** The head whose final value it is. */
    const ending = expect.stringMatching(/^chat#\d+$/);

    test("SE10 a changed file is named with its blob and the row that names it", async () => {
      expect((await store.hf.check()).issues).toEqual([]);
      const { ref, path } = await fileOf();
      const bytes = readFileSync(path);
      writeFileSync(path, Buffer.from([(bytes[0] ?? 0) ^ 1, ...bytes.subarray(1)]));
      const { issues } = await store.hf.check();
      expect(issues).toEqual([expect.objectContaining({ kind: "blob-hash-mismatch", rows: [ref, ending] })]);
      expect((await store.check("deep", "blob-hash-mismatch")).status).toBe("ok");
      expect((await store.hf.check({ mode: "quick" })).status, "quick reads no bytes").toBe("ok");
      writeFileSync(path, bytes);
    });

    test("SE10 a file that is gone is named with its blob and the row that names it", async () => {
      const { ref, path } = await fileOf();
      rmSync(path);
      const { issues } = await store.hf.check();
      expect(issues).toEqual([expect.objectContaining({ kind: "blob-missing", rows: [ref, ending] })]);
      expect((await store.check("deep", "blob-missing")).status).toBe("ok");
    });
  });
}

test("SE10 docs/checker.md lists every kind with its meaning and hint", () => {
  const page = readFileSync(new URL("../../docs/checker.md", import.meta.url), "utf8");
  for (const [kind, { mode, meaning, hint }] of Object.entries(KINDS)) {
    expect(page).toContain(`| \`${kind}\` | ${mode} | ${meaning} | ${hint} |`);
  }
  expect(page.match(/^\| `/gm)).toHaveLength(Object.keys(KINDS).length);
});
