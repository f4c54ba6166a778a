// The timeline of a run: how long things took, and how long people did.
import { expect, test } from "vitest";
import type { LogEvent } from "../contracts/log.ts";
import { momentsOf } from "./timeline.ts";

const SECOND = 1000;
const place = { iteration: 1, path: "1", kind: "tool", name: "pay", attempt: 1, digest: "d", key: "k" };

function events(...said: readonly (readonly [at: number, type: string, data?: object])[]): readonly LogEvent[] {
  return said.map(([at, type, data = {}], i) => ({
    ...{ session: "s", seq: i + 1, type: type as LogEvent["type"], at: at * SECOND, schemaVersion: 1, run: "r" },
    ...{ data: data as LogEvent["data"], commitments: {}, hash: "" },
  }));
}

const BEGUN = [
  [0, "run/created"],
  [1, "step/started", place],
  [40, "step/asked", { step: 2 }],
] as const;

test("a step that somebody decided on took as long as it took, not as long as he thought about it", () => {
  const retried = momentsOf(
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
    ...{ ms: 45 * SECOND, waitedMs: 3600 * SECOND, text: expect.stringContaining("people took") },
  });
  expect(retried.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^eve decided on tool pay after 1 ?h/));
});

test("of a step that somebody said happened, nobody knows how long it took", () => {
  const told = momentsOf(
    events(
      ...BEGUN,
      [3640, "run/answered", { step: 2, verdict: "result" }],
      [3640, "step/done", { step: 2 }],
      [3641, "run/completed"],
    ),
  );
  expect(told.find(({ kind }) => kind === "step")).toMatchObject({ ms: null, waitedMs: 3600 * SECOND });
});

test("while several are asked, the time counts once", () => {
  const asked = momentsOf(
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
