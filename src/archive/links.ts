// Invocations that came before the sessions they name: they are linked when those come, so that the order of imports does
// not matter. Their events say whom they name.
import type { Storage, Write } from "../contracts/storage.ts";
import { jsonObject, plainObject } from "../core/decode.ts";

export async function linkWrites(storage: Storage, fresh: ReadonlySet<string>): Promise<readonly Write[]> {
  const named = new Map<string, { readonly callee: string | null; readonly source: string | null }>();
  const writes: Write[] = [];
  for (const { session, seq, body } of await storage.query("invocations.unlinked")) {
    const data = plainObject.read(jsonObject.read(body)?.data) ?? {};
    const source = plainObject.read(data.source) ?? {};
    const isFresh = (id: unknown) => (typeof id === "string" && fresh.has(id) ? id : null);
    const first = `${session}#${typeof data.invocation === "number" ? data.invocation : seq}`;
    // A version that ends it says only which one it ends.
    const whom = named.get(first) ?? { callee: isFresh(data.callee), source: isFresh(source.session) };
    named.set(first, whom);
    if (whom.callee === null && whom.source === null) continue;
    const heads = [whom.callee && text(data.calleeHead), whom.source && text(source.head)] as const;
    const params = [whom.callee, heads[0], whom.source, heads[1], session, seq];
    writes.push({ op: "run", statement: "invocation.link", params });
  }
  return writes;
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
