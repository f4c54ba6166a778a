// Invocations that came before the sessions they name: they are linked when those come, so that the order of imports does
// not matter. Their events say whom they name.
import type { PortableCell, PortableRow } from "../contracts/portable.ts";
import type { Storage, Write } from "../contracts/storage.ts";
import { jsonObject, plainObject } from "../core/decode.ts";

/** Sessions and heads of others that an invocation names, as its events say; by column. */
export function namedBy(
  row: PortableRow,
  events: ReadonlyMap<PortableCell | undefined, PortableCell | undefined>,
): Readonly<Record<string, string | null>> {
  const dataAt = (seq: PortableCell | undefined) => plainObject.read(jsonObject.read(events.get(seq))?.data) ?? {};
  const { callee, mode, source: from } = dataAt(row.first_seq);
  const source = plainObject.read(from) ?? {};
  return {
    ...{ callee_session: text(callee), source_session: text(source.session), source_head: text(source.head) },
    callee_head_before: mode === "continue" ? text(source.head) : null,
    callee_head_after: row.seq === row.first_seq ? null : text(dataAt(row.seq).calleeHead),
  };
}

export async function linkWrites(storage: Storage, fresh: ReadonlySet<string>): Promise<readonly Write[]> {
  const named = new Map<string, Record<"callee" | "before" | "source" | "from", string | null>>();
  const writes: Write[] = [];
  for (const { session, seq, body } of await storage.query("invocations.unlinked")) {
    const data = plainObject.read(jsonObject.read(body)?.data) ?? {};
    const source = plainObject.read(data.source) ?? {};
    const isFresh = (id: unknown) => (typeof id === "string" && fresh.has(id) ? id : null);
    const first = `${session}#${typeof data.invocation === "number" ? data.invocation : seq}`;
    // A version that ends it says only which one it ends.
    const whom = named.get(first) ?? {
      ...{ callee: isFresh(data.callee), before: data.mode === "continue" ? text(source.head) : null },
      ...{ source: isFresh(source.session), from: text(source.head) },
    };
    named.set(first, whom);
    const { callee, before } = whom;
    if (callee === null && whom.source === null) continue;
    const from = whom.source === null ? null : whom.from;
    const heads = callee === null ? [null, null] : [before, text(data.calleeHead)];
    const params = [callee, ...heads, whom.source, from, session, seq];
    writes.push({ op: "run", statement: "invocation.link", params });
  }
  return writes;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
