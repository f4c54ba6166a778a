// The events of `holdfast capture`: one JSON document per line, or readable lines.
import { countImportedMessages, type Imported } from "../../coding/conversation/import.ts";
import { countByRole, type FileCount, type LocalSession } from "../../coding/local-agent.ts";
import type { FileFinding } from "../../coding/saver.ts";
import type { Capture, CodingAgent } from "../../contracts/captures.ts";
import { AGENT_NAMES } from "../../core/agent-sessions.ts";
import { safe, safeLine } from "../terminal.ts";
import { formatBytes, formatCount, formatSpan, plural } from "../units.ts";

export type CaptureEvent =
  | { event: "start"; agent: CodingAgent; request: string | null; out: string | null; dryRun: boolean }
  | { event: "session"; agent: CodingAgent; sessionId: string; agentVersion: string | null }
  | { event: "directory"; cwd: string; configDir: string | null; key: string | null }
  | {
      event: "files";
      files: number;
      size: number;
      roles: Readonly<Record<string, FileCount>>;
      left: LocalSession["left"];
    }
  | { event: "secrets"; masked: boolean; secrets: readonly FileFinding[] }
  | ({ event: "saved"; capture: string; gone: readonly string[] } & Omit<Capture, "id">)
  | ({ event: "conversation" } & Imported)
  | { event: "bundle"; file: string; size: number }
  | { event: "dry-run"; written: false };

export function foundEvents(found: LocalSession): readonly CaptureEvent[] {
  const { agent, sessionId, agentVersion, cwd, configDir, key, files, left } = found;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return [
    { event: "session", agent, sessionId, agentVersion },
    { event: "directory", cwd, configDir, key },
    { event: "files", files: files.length, size, roles: countByRole(files), left },
  ];
}

const WIDTH = 14;

export function eventLines(one: CaptureEvent): readonly string[] {
  const [first = "", ...rest] = words(one);
  return [`${one.event.padEnd(WIDTH)}${first}`, ...rest.map((line) => `${" ".repeat(WIDTH)}${line}`)];
}

function words(one: CaptureEvent): readonly string[] {
  switch (one.event) {
    case "start": {
      const to = [one.request === null ? "" : `for request ${one.request}`, one.out === null ? "" : `to ${one.out}`];
      return [safeLine(["capture", ...to.filter((text) => text !== "")].join(" "))];
    }
    case "session":
      return [safeLine([AGENT_NAMES[one.agent], one.agentVersion ?? "", one.sessionId].filter(Boolean).join(" "))];
    case "directory":
      return [safeLine(one.cwd), ...(one.configDir === null ? [] : [safe`${one.configDir}, ${one.key ?? ""}`])];
    case "files":
      return [
        `${plural(one.files, "file")}, ${formatBytes(one.size)}`,
        ...Object.entries(one.roles).map(([role, count]) => `${role}: ${count.files}, ${formatBytes(count.size)}`),
        ...one.left.map(({ path, why }) => safe`left out: ${path}: ${why}`),
      ];
    case "secrets":
      return one.secrets.length === 0 ? ["none found"] : secretWords(one.secrets);
    case "saved":
      return [savedWords(one)];
    case "conversation":
      return [safe`${plural(countImportedMessages(one), "new message")} in session ${one.session}`];
    case "bundle":
      return [safe`${formatBytes(one.size)} to ${one.file}`];
    case "dry-run":
      return ["nothing was written"];
  }
}

const KINDS = 10;
const PLACES = 3;

/**
 * Lists the kinds of secrets and where they are, never the secrets. Equal kinds and excerpts are listed once, with the
 * first places.
 */
export function secretWords(secrets: readonly FileFinding[]): readonly string[] {
  const alike = [...Map.groupBy(secrets, ({ kind, excerpt }) => safe`${kind} ${excerpt}`)];
  const shown = alike
    .slice(0, KINDS)
    .flatMap(([name, found]) => [
      found.length === 1 ? name : `${name}, in ${formatCount(found.length)} places`,
      ...found.slice(0, PLACES).map(({ path, line }) => safe`  ${path}:${line}`),
      ...(found.length > PLACES ? [`  and ${formatCount(found.length - PLACES)} more`] : []),
    ]);
  return alike.length > KINDS ? [...shown, `and ${alike.length - KINDS} more`] : shown;
}

export function savedWords({ generation, diverged, size, stored, expiresAt, fileCount, savedAt }: Omit<Capture, "id">) {
  const kept = expiresAt === null ? "kept for ever" : `kept for ${formatSpan(expiresAt - savedAt)}`;
  const divergence = diverged ? ", beside the newest, which another machine saved" : "";
  return (
    `generation ${generation}${divergence}: ${plural(fileCount, "file")}, ${formatBytes(size)} ` +
    `(${formatBytes(stored)} stored), ${kept}`
  );
}
