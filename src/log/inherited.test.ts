// A fork of a damaged session: verifying the fork also verifies what it inherits, and nothing else of the source.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";

for (const engine of ENGINES) {
  describe(`what a fork inherits on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    const run = (sql: string) =>
      ground.driver.transact(function* () {
        yield { statements: [{ kind: "query", sql, params: [] }], last: true };
      });
    const say = async (session: string, ...words: readonly string[]) => {
      for (const content of words) await hf.history.append({ session, agent: "a" }, { role: "user", content });
    };
    const SOURCE = "session_no = (SELECT no FROM sessions WHERE id = 'source')";
    const found = async (session: string) => {
      const { issues } = await hf.check({ session });
      return issues.map(({ kind, rows }) => [kind, ...rows].join(" "));
    };

    /** source: 1 created, 2-4 said, 5 head, 6-7 left, 8 head, 9 back to 5, 10-11 said, 12 head; then more. */
    beforeEach(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url);
      await say("source", "one", "two", "three");
      const early = await hf.heads.publish("source");
      await say("source", "left", "behind");
      await hf.heads.publish("source");
      await hf.sessions.resume(`source@${early.id}`);
      await say("source", "four", "five");
      const late = await hf.heads.publish("source");
      await hf.sessions.fork(`source@${late.id}`, { id: "heir" });
      await hf.sessions.fork(`source@${early.id}`, { id: "early" });
      await say("heir", "of the heir");
      await hf.sessions.fork(`heir@${(await hf.heads.publish("heir")).id}`, { id: "grandheir" });
      await say("source", "not inherited");
    });
    afterEach(async () => {
      await hf.close();
      await ground.end();
    });

    const DAMAGES = [
      ["a missing message", `DELETE FROM events WHERE ${SOURCE} AND seq = 3`, 3, "seq-gap"],
      ["the first event missing", `DELETE FROM events WHERE ${SOURCE} AND seq = 1`, 1, "seq-gap"],
      ["another role", `UPDATE events SET role = 'tool' WHERE ${SOURCE} AND seq = 3`, 3, "event-mismatch"],
      [
        "another body",
        `UPDATE events SET body = (SELECT body FROM events WHERE ${SOURCE} AND seq = 2) WHERE ${SOURCE} AND seq = 3`,
        3,
        "chain-broken",
      ],
    ] as const;

    for (const state of ["live", "deleted"] as const) {
      test.each(DAMAGES)(`LG2 SE10 of a ${state} source: %s`, async (_, sql, seq, kind) => {
        if (state === "deleted") await hf.sessions.delete("source");
        for (const id of ["heir", "early", "grandheir"]) {
          expect(await hf.log.verify(id)).toMatchObject({ ok: true });
          expect(await found(id)).toEqual([]);
        }
        await run(sql);
        for (const id of ["heir", "early", "grandheir"]) {
          const report = await hf.log.verify(id);
          expect(report).toMatchObject({ ok: false, session: id, source: "source", badSeq: seq });
          expect(await found(id), id).toEqual([`${kind} source#${seq}`]);
        }
        const all = (await hf.check()).issues.filter((issue) => issue.kind === kind);
        expect(all.map(({ rows }) => rows)).toEqual([[`source#${seq}`]]);
      });

      test(`LG2 of a ${state} source: where the stretch ends too early, and where a branch begins`, async () => {
        if (state === "deleted") await hf.sessions.delete("source");
        await run(`DELETE FROM events WHERE ${SOURCE} AND seq > 10`);
        expect(await hf.log.verify("heir")).toMatchObject({ ok: false, source: "source", badSeq: 11 });
        expect(await hf.log.verify("early")).toMatchObject({ ok: true });
        await run(`UPDATE events SET type = 'session/updated' WHERE ${SOURCE} AND seq = 9`);
        expect(await hf.log.verify("heir")).toMatchObject({ ok: false, source: "source", badSeq: 9 });
      });
    }

    test("LG2 events on a line that was left, or after the cut, are not inherited", async () => {
      await run(`DELETE FROM events WHERE ${SOURCE} AND seq IN (6, 13)`);
      expect(await hf.log.verify("source")).toMatchObject({ ok: false });
      for (const id of ["heir", "early", "grandheir"]) {
        expect(await hf.log.verify(id)).toMatchObject({ ok: true });
        expect(await found(id)).toEqual([]);
      }
    });

    test("LG6 a message that the source cleared is accepted as cleared, also if the clear is not inherited", async () => {
      await hf.history.clear({ session: "source", agent: "a" });
      expect(await hf.log.verify("heir")).toMatchObject({ ok: true });
      await run(`UPDATE events SET erased_seq = 12 WHERE ${SOURCE} AND seq = 3`);
      expect(await hf.log.verify("heir")).toMatchObject({ ok: false, source: "source", badSeq: 3 });
      await run(`UPDATE events SET erased_seq = 14 WHERE ${SOURCE} AND seq = 3`);
      await hf.sessions.delete("source");
      expect(await hf.log.verify("heir")).toMatchObject({ ok: true });
    });

    test("LG2 events inherited before a trusted anchor are trusted; with `deleted`, live sources are not verified", async () => {
      const from = await hf.log.anchor("heir");
      await run(`DELETE FROM events WHERE ${SOURCE} AND seq = 3`);
      expect(await hf.log.verify("heir", { from })).toMatchObject({ ok: true });
      expect(await hf.log.verify("heir", { inherited: "deleted" })).toMatchObject({ ok: true });
      await hf.sessions.delete("source");
      expect(await hf.log.verify("heir", { inherited: "deleted" })).toMatchObject({ ok: false, source: "source" });
      await expect(hf.log.verify("heir", { inherited: "none" as "all" })).rejects.toMatchObject({
        code: "InvalidArgument",
      });
    });
  });
}
