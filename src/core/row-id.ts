// Ids of the rows of a session's log: `<session>#<seq>`, unique for ever, also across forks.
import { checkId, invalid } from "./check.ts";

export function rowId(session: string, seq: number): string {
  return `${session}#${seq}`;
}

export function optionalRowId(session: string, seq: number | null): string | null {
  return seq === null ? null : rowId(session, seq);
}

export function parseRowId(id: unknown, what: string): { readonly session: string; readonly seq: number } {
  const text = typeof id === "string" ? id : "";
  const mark = text.lastIndexOf("#");
  const digits = text.slice(mark + 1);
  if (mark < 1 || !/^[1-9][0-9]{0,15}$/.test(digits)) throw invalid(what, "an id such as chat-42#7", id);
  return { session: checkId(text.slice(0, mark), what), seq: Number(digits) };
}
