// The catalogue: every attribute a query can name, and nothing else. Names stay when tables change; a new version of
// the catalogue only adds names. The text of messages and other payloads cannot be queried: facts contain their refs.
import type { Querying } from "../contracts/query.ts";
import { editDistance } from "../core/distance.ts";
import { once } from "../core/memoize.ts";
import type { Attribute as Named } from "./ast.ts";
import type { Attribute, ValueType } from "./facts.ts";
import { invalidQuery, shorten } from "./form.ts";
import type { KindName } from "./kinds.ts";
import { runAttributes } from "./run-facts.ts";
import { sessionAttributes } from "./session-facts.ts";
import { stepAttributes } from "./step-facts.ts";
import { storeAttributes } from "./store-facts.ts";

export const attributes = once<readonly Attribute[]>(() => [
  ...sessionAttributes(),
  ...runAttributes(),
  ...stepAttributes(),
  ...storeAttributes(),
]);

const byName = once<ReadonlyMap<string, Attribute>>(() => new Map(attributes().map((one) => [one.name, one])));
const names = once(() => [...byName().keys()]);

const NEAREST = 3;

export function attributeOf({ name, at }: Named): Attribute {
  const found = byName().get(name);
  if (found !== undefined) return found;
  const near = nearest(name);
  const guess = near.length === 0 ? "" : `; near are ${near.join(" ")}`;
  const space = name.slice(0, name.indexOf("/") + 1);
  const siblings = names().filter((one) => space !== "" && one.startsWith(space));
  const spaces = [...new Set(names().map((one) => `${one.slice(0, one.indexOf("/"))}/…`))];
  const known = siblings.length > 0 ? siblings : spaces;
  throw invalidQuery(at, `there is no attribute ${shorten(name)}${guess}`, `there are ${known.join(" ")}`);
}

function nearest(name: string): readonly string[] {
  const most = Math.max(2, Math.floor(name.length / 4));
  const last = name.slice(name.indexOf("/"));
  return names()
    .map((one) => {
      const sameEnd = last.length > 2 && one.endsWith(last);
      return { one, sameEnd, distance: editDistance(name.slice(0, 100), one) };
    })
    .filter(({ distance, sameEnd }) => sameEnd || distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.one < b.one ? -1 : 1))
    .slice(0, NEAREST)
    .map(({ one }) => one);
}

/** All attributes of a kind, for `*`; links are listed once, as refs that can be followed. */
export function attributesOf(kind: KindName): readonly Attribute[] {
  const own = attributes().filter((one) => one.kind === kind);
  return own.filter((one) => !(one.name.endsWith("-id") && own.some((other) => `${other.name}-id` === one.name)));
}

/** Lists every attribute for Querying.facts(). */
export function factNames(): readonly Awaited<ReturnType<Querying["facts"]>>[number][] {
  return attributes().map(({ name, kind, type, many }) => ({ name, of: kind, type: typeText(type), many }));
}

/** The type of an attribute's values, for listings. */
function typeText(type: ValueType): string {
  return type.is === "entity" ? `→ ${type.kind}` : type.is;
}
