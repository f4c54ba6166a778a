// The tables and indexes that the migrations leave, by name: what a store must have.
import { MIGRATIONS } from "./migrations.ts";

export interface SchemaObject {
  readonly type: "table" | "index";
  readonly name: string;
}

/** A step names what it makes or drops; implicit indexes of keys belong to their tables. */
const STEP = /^\s*(CREATE|DROP)\s+(?:UNIQUE\s+)?(TABLE|INDEX)\s+(\w+)/i;

export function schemaObjects(): readonly SchemaObject[] {
  const found = new Map<string, SchemaObject>();
  for (const { up } of MIGRATIONS) {
    for (const step of up) {
      const [, verb, type, name] = STEP.exec(step) ?? [];
      if (name === undefined) continue;
      if (verb?.toUpperCase() === "DROP") found.delete(name);
      else found.set(name, { type: type?.toUpperCase() === "TABLE" ? "table" : "index", name });
    }
  }
  return [...found.values()];
}

/** Damages of the same part and name as one, with the first few messages. */
export function groupDamages<P extends string>(
  found: Iterable<{ readonly part: P; readonly name: string | null; readonly message: string }>,
): readonly {
  readonly part: P;
  readonly name: string | null;
  readonly messages: readonly string[];
  readonly count: number;
}[] {
  const groups = new Map<string, { part: P; name: string | null; messages: string[]; count: number }>();
  for (const { part, name, message } of found) {
    const key = JSON.stringify([part, name]);
    const group = groups.get(key) ?? { part, name, messages: [], count: 0 };
    groups.set(key, group);
    group.count++;
    if (group.messages.length < MESSAGES_MAX) group.messages.push(message);
  }
  return [...groups.values()];
}

const MESSAGES_MAX = 5;
