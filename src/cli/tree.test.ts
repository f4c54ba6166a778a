// The drawing of sessions that invoke each other: each is drawn once, and circles end.
import { expect, test } from "vitest";
import type { TreeSession } from "../contracts/archive.ts";
import { displayWidth, styleFor } from "./terminal.ts";
import { treeLines } from "./tree.ts";

const style = styleFor({ write: () => true, on: () => undefined }, {});
const draw = (sessions: readonly TreeSession[], width = 80) =>
  treeLines({ sessions, more: false }, { marked: null, heads: 5 }, { width, style });

function session(id: string, more: Partial<TreeSession> = {}): TreeSession {
  return {
    id,
    title: null,
    status: "open",
    kind: "entry",
    messages: 1,
    seq: 2,
    head: null,
    branch: 1,
    branches: [{ branch: 1, from: null, heads: [] }],
    from: null,
    invocations: [],
    createdAt: 0,
    ...more,
  };
}

const call = (callee: string | null, seq: number, more: Partial<TreeSession["invocations"][number]> = {}) => ({
  id: `x#${seq}`,
  branch: 1,
  seq,
  type: "spawn" as const,
  status: "done" as const,
  callee,
  label: null,
  ...more,
});

test("a callee is drawn below its caller", () => {
  const child = session("child", {
    kind: "spawned",
    invocations: [call("gone", 3, { type: "attach", status: "failed" })],
  });
  const caller = session("caller", {
    invocations: [call("child", 2, { label: "find\nit" }), call("child", 4, { type: "attach", status: "running" })],
  });
  expect(draw([child, caller])).toEqual([
    "caller  1 message",
    '├─ spawn "find\\nit" → child  1 message',
    "│  └─ attach failed → gone (not here)",
    "└─ attach running → child (drawn elsewhere)",
  ]);
});

test("sessions that invoke each other are drawn once", () => {
  const a = session("a", { kind: "attached", invocations: [call("b", 2)] });
  const b = session("b", { kind: "attached", invocations: [call("a", 2)] });
  expect(draw([a, b])).toEqual(["a  1 message", "└─ spawn → b  1 message", "   └─ spawn → a (drawn elsewhere)"]);
  const own = session("own", { kind: "attached", invocations: [call("own", 2)] });
  expect(draw([own])).toEqual(["own  1 message", "└─ spawn → own (drawn elsewhere)"]);
});

test("a deep line of forks still fits the terminal", () => {
  const forks = Array.from({ length: 30 }, (_, i) =>
    session(`session-${i}`, {
      title: "日本語のとても長い題名 ".repeat(5),
      from: i === 0 ? null : { type: "fork", session: `session-${i - 1}`, branch: 1, seq: 1, head: null },
    }),
  );
  const lines = draw(forks, 40);
  expect(lines).toHaveLength(30);
  for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
  expect(lines[29]).toMatch(/^… +└─ fork at session-28#/);
});
