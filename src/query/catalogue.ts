// The catalogue: every attribute a query can name, and nothing else. Names stay when tables change; a new version of the
// catalogue only adds. Text of messages and other payloads are no facts: a fact names them by ref.
import type { FactName } from "../contracts/query.ts";
import { editDistance } from "../core/distance.ts";
import type { Attribute as Named } from "./ast.ts";
import type { Attribute, ValueType } from "./facts.ts";
import { invalidQuery, shorten } from "./form.ts";
import type { KindName } from "./kinds.ts";
import { RUN_ATTRIBUTES } from "./run-facts.ts";
import { SESSION_ATTRIBUTES } from "./session-facts.ts";
import { STEP_ATTRIBUTES } from "./step-facts.ts";
import { STORE_ATTRIBUTES } from "./store-facts.ts";

export const CATALOGUE_VERSION = 2;

export const ATTRIBUTES: readonly Attribute[] = [
  ...SESSION_ATTRIBUTES,
  ...RUN_ATTRIBUTES,
  ...STEP_ATTRIBUTES,
  ...STORE_ATTRIBUTES,
];

const BY_NAME: ReadonlyMap<string, Attribute> = new Map(ATTRIBUTES.map((one) => [one.name, one]));
const NAMES = [...BY_NAME.keys()];

const NEAREST = 3;

export function attributeOf({ name, at }: Named): Attribute {
  const found = BY_NAME.get(name);
  if (found !== undefined) return found;
  const near = nearest(name);
  const guess = near.length === 0 ? "" : `; near are ${near.join(" ")}`;
  const space = name.slice(0, name.indexOf("/") + 1);
  const siblings = NAMES.filter((one) => space !== "" && one.startsWith(space));
  const spaces = [...new Set(NAMES.map((one) => `${one.slice(0, one.indexOf("/"))}/…`))];
  const known = siblings.length > 0 ? siblings : spaces;
  throw invalidQuery(at, `there is no attribute ${shorten(name)}${guess}`, `there are ${known.join(" ")}`);
}

function nearest(name: string): readonly string[] {
  const most = Math.max(2, Math.floor(name.length / 4));
  const last = name.slice(name.indexOf("/"));
  return NAMES.map((one) => {
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
  const own = ATTRIBUTES.filter((one) => one.kind === kind);
  return own.filter((one) => !(one.name.endsWith("-id") && own.some((other) => `${other.name}-id` === one.name)));
}

/** Every attribute, for people. */
export function factNames(): readonly FactName[] {
  return ATTRIBUTES.map(({ name, kind, type, many }) => ({ name, of: kind, type: typeText(type), many }));
}

/** For listings: what an attribute's values are. */
export function typeText(type: ValueType): string {
  return type.is === "entity" ? `→ ${type.kind}` : type.is;
}
