// The timeline of a run: how long things took, and how long people did.
import { expect, test } from "vitest";
import type { LogEvent } from "../contracts/log.ts";
import { buildTimeline } from "./timeline.ts";

const SECOND = 1000;
const place = { iteration: 1, path: "1", kind: "tool", name: "pay", attempt: 1, digest: "d", key: "k" };

function events(...said: readonly (readonly [at: number, type: string, data?: object])[]): readonly LogEvent[] {
  return said.map(([at, type, data = {}], i) => ({
    session: "s",
    seq: i + 1,
    type: type as LogEvent["type"],
    at: at * SECOND,
    schemaVersion: 1,
    run: "r",
    data: data as LogEvent["data"],
    commitments: {},
    hash: "",
  }));
}

const BEGUN = [
  [0, "run/created"],
  [1, "step/started", place],
  [40, "step/asked", { step: 2 }],
] as const;

test("the duration of a step that a person decided does not include the wait for the decision", () => {
  const retried = buildTimeline(
    events(
      ...BEGUN,
      [3640, "run/answered", { step: 2, verdict: "retry", by: "eve" }],
      [3642, "step/again", { step: 2 }],
      [3645, "step/done", { step: 2 }],
      [3646, "iteration/complete", { iteration: 1 }],
    ),
  );
  expect(retried.find(({ kind }) => kind === "step")).toMatchObject({ ms: 3 * SECOND, waitedMs: 3600 * SECOND });
  expect(retried.find(({ kind }) => kind === "iteration")).toMatchObject({
    ms: 45 * SECOND,
    waitedMs: 3600 * SECOND,
    text: expect.stringContaining("people took"),
  });
  expect(retried.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^eve decided on tool pay after 1 ?h/));
});

test("a step that a person confirmed has no duration", () => {
  const moments = buildTimeline(
    events(
      ...BEGUN,
      [3640, "run/answered", { step: 2, verdict: "result" }],
      [3640, "step/done", { step: 2 }],
      [3641, "run/completed"],
    ),
  );
  expect(moments.find(({ kind }) => kind === "step")).toMatchObject({ ms: null, waitedMs: 3600 * SECOND });
});

test("while several are asked, the time counts once", () => {
  const asked = buildTimeline(
    events(
      ...BEGUN,
      [40, "step/started", { ...place, path: "2" }],
      [50, "step/asked", { step: 4 }],
      [60, "run/answered", { step: 2, verdict: "fail" }],
      [90, "run/answered", { step: 4, verdict: "fail" }],
      [91, "iteration/complete", { iteration: 1 }],
    ),
  );
  expect(asked.find(({ kind }) => kind === "iteration")).toMatchObject({ waitedMs: 50 * SECOND, ms: 40 * SECOND });
});

test("what only waits is drawn as waiting: for what, until when, and what came of it", () => {
  const wait = { ...place, kind: "wait", name: "ok" };
  const lastStep = (...more: readonly (readonly [number, string, object?])[]) =>
    buildTimeline(events([0, "run/created"], [1, "step/started", { ...wait, until: 3600 * SECOND }], ...more)).find(
      ({ kind }) => kind === "step",
    );
  expect(lastStep()).toMatchObject({ text: "waiting for signal ok until 1970-01-01 01:00:00Z", tone: "warn" });
  expect(lastStep([9, "step/done", { step: 2, signal: 3 }])).toMatchObject({ text: "", tone: "plain", ms: 8 * SECOND });
  expect(lastStep([3601, "step/done", { step: 2 }])?.text).toBe("timed out: no signal came");
  expect(lastStep([9, "run/cancelled"])?.text).toMatch(/^waiting for signal ok until .*; the run ended first$/);
  const drawn = (data: object) => buildTimeline(events([1, "step/started", data])).at(-1)?.text;
  expect(drawn(wait)).toBe("waiting for signal ok, without a timeout");
  expect(drawn({ ...place, kind: "sleep", name: "sleep", until: 0 })).toBe("asleep until 1970-01-01 00:00:00Z");
  expect(drawn({ ...place, kind: "spawn", name: "child", run: "run_1" })).toBe("waiting for its child run_1");
  expect(drawn(place)).toBe("begun, outcome unknown");
});

test("a recorded read is drawn with how much it gave, and where in the log it looked", () => {
  const position = { branch: 1, seq: 12, count: 3, digest: "0" };
  const drawn = (name: string, at: object) =>
    buildTimeline(events([1, "step/done", { ...place, kind: "read", name, position: at }])).at(-1);
  expect(drawn("context", position)).toMatchObject({ step: "read context", text: "3 messages at #12", tone: "plain" });
  expect(drawn("state", { ...position, count: 1 })?.text).toBe("1 key at #12");
});

test("a recovered run is not shown as released by its worker", () => {
  const said = buildTimeline(events([0, "run/released", { recovered: true }], [1, "run/released"])).map(
    ({ text }) => text,
  );
  expect(said).toEqual([
    "recovered: its worker was gone; another worker can claim it",
    "released; another worker can claim it",
  ]);
});
