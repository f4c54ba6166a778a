// The one statement of a durable append as the server takes it: how it joins, what its rows find, in which order.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../../test/engines.ts";
import { textOf } from "../../../../test/real/examine.ts";
import type { Holdfast } from "../../../contracts/holdfast.ts";
import { open } from "../../../open.ts";
import { ADD_EVENT, ADD_MESSAGE, FENCE_SESSION, insertSpec, PUT_BLOB } from "../specs.ts";
import { renderTogether } from "./dialect.ts";

const scope = (session: string) => ({ session, agent: "a" });
/** Long enough for a blob. */
const long = (text: string) => text.padEnd(2000, ".");
const userMessage = (text: string) => ({ role: "user", content: text }) as const;

describe("an append to remembered sessions on PostgreSQL", () => {
  let ground: EngineStore;
  let store: Holdfast;
  beforeEach(async () => {
    const engine = ENGINES.find((one) => one.name === "postgres");
    if (engine === undefined) throw new Error("no PostgreSQL among the engines");
    ground = await engine.fresh();
    store = await open(ground.url);
  });
  afterEach(async () => {
    await store.close();
    await ground.end();
  });

  test("ST10 joins many rows by their hashes, never each with each", async () => {
    const specs = [FENCE_SESSION, PUT_BLOB, ADD_EVENT, ADD_MESSAGE, insertSpec("blob_links")];
    const text = renderTogether(specs.flatMap((spec) => (spec === undefined ? [] : [{ spec, width: 2 }])));
    const plan = await ground.driver.read(`EXPLAIN (GENERIC_PLAN) ${text}`, []);
    const lines = plan.map((row) => String(row["QUERY PLAN"]));
    expect(
      lines.filter((line) => line.includes("Nested Loop")),
      lines.join("\n"),
    ).toEqual([]);
    expect(lines.filter((line) => line.includes("Hash")).length).toBeGreaterThan(0);
  });

  test("HI1 messages that go together are read in the order they came, whether their content is new or not", async () => {
    const sessions = Array.from({ length: 20 }, (_, i) => `s${i}`);
    await Promise.all(sessions.map((session) => store.history.append(scope(session), userMessage(long("known")))));
    const texts = sessions.map((_, i) => long(["known", "twice", textOf("a", i)][i % 3] ?? ""));
    await Promise.all(sessions.map((session, i) => store.history.append(scope(session), userMessage(texts[i] ?? ""))));
    const read = await store.history.byAgent("a", { limit: sessions.length });
    expect(read.map(({ session }) => session)).toEqual(sessions);
    expect(read.map(({ content }) => content)).toEqual(texts.map((text) => [{ type: "text", text }]));
  });
});
