// Invocations that came before the sessions they name: they are linked when those come, so that the order of imports does
// not matter. Their events say whom they name.
import type { JsonObject } from "../contracts/json.ts";
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

/** Whom an invocation names, by its first event; of those only that come now. */
interface Named {
  readonly callee: string | null;
  readonly source: string | null;
  readonly sourceHead: string | null;
  /** The head that it continued from: of the very session it attached to, so that it was the callee's. */
  readonly calleeBefore: string | null;
}

export async function linkWrites(storage: Storage, fresh: ReadonlySet<string>): Promise<readonly Write[]> {
  const named = new Map<string, Named>();
  const writes: Write[] = [];
  for (const { session, seq, body } of await storage.query("invocations.unlinked")) {
    const data = plainObject.read(jsonObject.read(body)?.data) ?? {};
    const first = `${session}#${typeof data.invocation === "number" ? data.invocation : seq}`;
    // A version that ends it says only which one it ends, and the callee's head then.
    const whom = named.get(first) ?? namedIn(data, fresh);
    named.set(first, whom);
    if (whom.callee === null && whom.source === null) continue;
    const after = whom.callee && text(data.calleeHead);
    const params = [whom.callee, whom.calleeBefore, after, whom.source, whom.sourceHead, session, seq];
    writes.push({ op: "run", statement: "invocation.link", params });
  }
  return writes;
}

function namedIn(data: JsonObject, fresh: ReadonlySet<string>): Named {
  const source = plainObject.read(data.source) ?? {};
  const isFresh = (id: unknown) => (typeof id === "string" && fresh.has(id) ? id : null);
  const [callee, from] = [isFresh(data.callee), isFresh(source.session)];
  return {
    ...{ callee, source: from, sourceHead: from && text(source.head) },
    calleeBefore: data.mode === "continue" ? callee && text(source.head) : null,
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
