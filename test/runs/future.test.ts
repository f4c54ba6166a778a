// A log that a later version of holdfast wrote to: its chain is whole, and what it says is not known here (rule LG3).
import { afterEach, describe, expect, test } from "vitest";
import { nextHash } from "../../src/core/hashing.ts";
import { openOn } from "../../src/open.ts";
import { ENGINES, type EngineStore as Place } from "../engines.ts";
import { agentOf, cutOffStore, RUN, type TamperGround } from "./tampering.ts";

let place: Place | undefined;
afterEach(() => place?.end());

/** The last event of the run's session as another hand would have written it. */
async function rewritten(ground: TamperGround, edit: (envelope: string) => string): Promise<void> {
  const last = await ground.driver.read(
    "SELECT e.no, e.session_no, e.body, e.hash FROM events e JOIN runs r ON r.session_no = e.session_no " +
      `WHERE r.id = '${RUN}' ORDER BY e.seq DESC LIMIT 2`,
    [],
  );
  const [event, before] = last as unknown as readonly {
    no: number;
    session_no: number;
    body: Uint8Array;
    hash: Uint8Array;
  }[];
  if (event === undefined || before === undefined) throw new Error("the log is too short");
  const body = Buffer.from(edit(Buffer.from(event.body).toString("utf8")));
  const hash = nextHash(before.hash, body);
  await ground.all(["UPDATE events SET body = ?, hash = ? WHERE no = ?"], [body, hash, Number(event.no)]);
  await ground.all(["UPDATE sessions SET chain = ? WHERE no = ?"], [hash, Number(event.session_no)]);
}

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))("a later log on %s", (_name, engine) => {
  test("LG3 RU9 an event of a schema version from the future is met before anything is replayed; the run is not lost", async () => {
    place = await engine.fresh();
    const ground = await cutOffStore(place.driver);
    await rewritten(ground, (envelope) => envelope.replace(/"v":1\}$/, '"v":2}'));
    const { runs, log } = await openOn(place.driver, {});
    const effects = ground.recorder.effects.length;
    const resumed = runs.resume(agentOf(ground.recorder, RUN), RUN);
    await expect(resumed).rejects.toMatchObject({ code: "UnsupportedSchemaVersion", details: { version: 2 } });
    await expect(runs.recover(RUN)).rejects.toMatchObject({ code: "UnsupportedSchemaVersion" });
    expect(ground.recorder.effects.length).toBe(effects);
    expect(await runs.get(RUN)).toMatchObject({ status: "running", owner: null });
    expect(await log.verify("s")).toMatchObject({ ok: true });
  });

  test("LG3 fields of an envelope that are not known here are no reason to stop", async () => {
    place = await engine.fresh();
    const ground = await cutOffStore(place.driver);
    await rewritten(ground, (envelope) => envelope.replace(/"v":1\}$/, '"v":1,"zest":{"of":"later"}}'));
    const { runs } = await openOn(place.driver, {});
    const error = new Error("went on");
    const agent = { ...agentOf(ground.recorder, RUN), iterate: () => ({ verdict: "fail", error }) as const };
    expect(await runs.resume(agent, RUN)).toMatchObject({ status: "failed", error: { message: "went on" } });
  });
});
