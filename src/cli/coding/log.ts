// What happens to a session, one JSON object a line, for machines that are looked at later.
import { appendFile } from "node:fs/promises";
import * as path from "node:path";
import type { Log } from "./follow.ts";

export function logTo(file: string | undefined, cwd: string): Log {
  if (file === undefined) return () => {};
  const target = path.resolve(cwd, file);
  let turn: Promise<unknown> = Promise.resolve();
  return (level, event, fields) => {
    const text = `${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`;
    turn = turn.then(() => appendFile(target, text, { mode: 0o600 })).catch(() => {});
  };
}
