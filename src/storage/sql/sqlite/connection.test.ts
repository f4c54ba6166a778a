// Statements of a connection: what was compiled once is used as it is.
import { constants } from "node:sqlite";
import { expect, test } from "vitest";
import { ENGINES } from "../../../../test/engines.ts";
import { GUARDS, QUERIES, STATEMENTS } from "../statements.ts";
import { Connection } from "./connection.ts";

test("ST10 SQLite compiles each text once, whatever is bound", async () => {
  const ground = await ENGINES.find(({ name }) => name === "sqlite")?.fresh();
  if (ground === undefined) throw new Error("there is no SQLite to test");
  const connection = new Connection(ground.url);
  // It asks for permission whenever it compiles.
  let asked = 0;
  connection.db.setAuthorizer(() => {
    asked++;
    return constants.SQLITE_OK;
  });
  const again: string[] = [];
  for (const [name, text] of Object.entries({ ...QUERIES.all(), ...STATEMENTS.all(), ...GUARDS.all() })) {
    connection.statement(text);
    const before = asked;
    expect(before, name).toBeGreaterThan(0);
    for (const value of [1, 2]) bindAll(connection, text, value);
    if (asked > before) again.push(name);
  }
  connection.db.close();
  await ground.end();
  expect(again).toEqual([]);
});

function bindAll(connection: Connection, text: string, value: number): void {
  const params = Array.from(text.matchAll(/\?/g), () => value);
  try {
    connection.all(text, params);
  } catch (error) {
    // What such a number is not good for; it was compiled by then.
    expect(String(error)).toMatch(/constraint|cannot store/);
  }
}
