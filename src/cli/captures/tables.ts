// Tables and texts that show captures to people.
import { countByRole } from "../../coding/local-agent.ts";
import type { Capture, CapturedFile, CapturesRemoved } from "../../contracts/captures.ts";
import { AGENT_NAMES } from "../../core/agent-sessions.ts";
import { type Column, type Frame, facts, ID, table } from "../table.ts";
import { safe } from "../terminal.ts";
import { formatAge, formatBytes, formatCount, formatSpan, formatTime, plural } from "../units.ts";

export function captureTable(captures: readonly Capture[], now: number, frame: Frame): string[] {
  return table(columns(now), captures, frame);
}

const columns = (now: number): readonly Column<Capture>[] => [
  { title: "CAPTURE", cell: ({ id }) => id, ...ID, min: 24, colour: (text, _, style) => style.name(text) },
  // Users recognise a capture by its request, so only long requests are cut.
  { title: "REQUEST", cell: ({ request }) => request, shrink: 3, min: 24, keep: true },
  { title: "SAVED", cell: ({ savedAt }) => formatAge(savedAt, now), keep: true },
  { title: "EXPIRES", cell: (capture) => expiry(capture, now), keep: true },
  { title: "SIZE", align: "right", cell: ({ size }) => formatBytes(size) },
  { title: "AGENT", cell: ({ agent }) => agent },
  { title: "GEN", align: "right", cell: ({ generation }) => formatCount(generation) },
  // Empty, and so not shown, unless --beside lists them.
  { title: "BESIDE", cell: ({ diverged }) => (diverged ? "yes" : ""), keep: true },
  { title: "AGENT'S SESSION", cell: ({ sessionId }) => sessionId, shrink: 1, min: 36 },
  { title: "FILES", align: "right", cell: ({ fileCount }) => formatCount(fileCount) },
  { title: "STORED", align: "right", cell: ({ stored }) => formatBytes(stored) },
];

/** "in 6 d" or "2 h ago", for a column or field named EXPIRES. */
export function expiry({ expiresAt }: Pick<Capture, "expiresAt">, now: number): string {
  if (expiresAt === null) return "never";
  return expiresAt <= now ? `${formatSpan(now - expiresAt)} ago` : `in ${formatSpan(expiresAt - now)}`;
}

export function captureFacts(capture: Capture, now: number, frame: Frame): string[] {
  const { agent, agentVersion, configDir, key, expiresAt } = capture;
  return facts(
    [
      ["capture", capture.id],
      ["request", capture.request],
      ["agent", [AGENT_NAMES[agent], agentVersion ?? ""].join(" ").trim()],
      ["agent's session", capture.sessionId],
      ["session", capture.session],
      ["directory", capture.cwd],
      ["config directory", configDir ?? ""],
      ["project key", key ?? ""],
      ["generation", formatCount(capture.generation)],
      ["beside", capture.diverged ? "the newest, which another machine saved" : ""],
      ["saved", `${formatTime(capture.savedAt)} (${formatAge(capture.savedAt, now)})`],
      ["created", formatTime(capture.createdAt)],
      ["expires", expiresAt === null ? "never" : `${formatTime(expiresAt)} (${expiry(capture, now)})`],
      [
        "size",
        `${formatBytes(capture.size)} in ${plural(capture.fileCount, "file")}, ${formatBytes(capture.stored)} stored`,
      ],
    ],
    frame,
  );
}

export function fileTable(files: readonly CapturedFile[], frame: Frame): string[] {
  const order = Object.keys(countByRole(files));
  const grouped = files.toSorted((a, b) => order.indexOf(a.role) - order.indexOf(b.role));
  return table(
    [
      { title: "ROLE", cell: ({ role }) => role },
      { title: "SIZE", align: "right", cell: ({ size }) => formatBytes(size) },
      { title: "STORED", align: "right", cell: ({ stored }) => formatBytes(stored) },
      // Wide enough for the path of a transcript.
      { title: "PATH", cell: ({ path }) => path, wrap: true, shrink: 1, min: 52, keep: true },
    ],
    grouped,
    frame,
  );
}

/**
 * Describes the captures that a sweep deleted. The size includes bytes that stay because other captures or messages use
 * them.
 */
export function sweptWords({ removed, bytes }: CapturesRemoved): string {
  const lost = removed.flatMap(({ id, notImported }) =>
    notImported === undefined ? [] : [safe`${id}: ${notImported}`],
  );
  const notImported = lost.length === 0 ? "" : `; not imported before: ${lost.join(", ")}`;
  return `${plural(removed.length, "expired capture")} (${formatBytes(bytes)})${notImported}`;
}
