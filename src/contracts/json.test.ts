// The types accept the same values as JSON as a store does, as far as types can express it. Every @ts-expect-error
// below fails `npm run check` if the line under it compiles, and the store refuses every such value at run time as
// well.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { open } from "../open.ts";
import type { HoldfastError } from "./errors.ts";
import type { Holdfast } from "./holdfast.ts";
import type { Json, JsonObject } from "./json.ts";
import type { MessageInput } from "./messages.ts";

interface Person {
  readonly name: string;
  readonly age?: number;
  readonly nick?: string | undefined;
  readonly friends: readonly Person[];
  address: { lines: string[]; country: string | null };
}

interface Trip {
  readonly to: string;
  readonly start: Date;
}

class Money {
  readonly cents = 5;
  double(): number {
    return 2 * this.cents;
  }
}

/** For the compiler this class is an interface. */
class Point {
  readonly x = 1;
}

const person: Person = { name: "Ada", friends: [], address: { lines: ["1 High Street"], country: null } };
const trip: Trip = { to: "Rome", start: new Date(0) };
const object: JsonObject = { a: { b: [1, "x", null, true] } };
const scope = { session: "s", agent: "a" };

let hf: Holdfast;
beforeAll(async () => {
  hf = await open(":memory:");
});
afterAll(() => hf.close());

describe("ST5 interfaces are JSON", () => {
  test("as state, in notes, and as blobs", async () => {
    await hf.state.set("s", person);
    expect(await hf.state.get("s")).toEqual(person);
    await hf.state.patch("s", { people: [person], owner: person, maybe: person.age, object });
    expect(await hf.state.get("s")).toEqual({ ...person, people: [person], owner: person, object });
    const { version } = await hf.state.getVersioned("s");
    expect(await hf.state.compareAndSet("s", version, person)).toMatchObject({ value: person });
    await hf.log.annotate("s", person);
    for (const value of [person, [person], object, "text", 1, null] as const) {
      expect(await hf.blobs.resolveJson(await hf.blobs.storeJson(value))).toEqual(value);
    }
  });

  test("as metadata", async () => {
    expect(await hf.agents.create({ id: "ada", metadata: person })).toMatchObject({ metadata: person });
    expect(await hf.agents.update("ada", { metadata: { person } })).toMatchObject({ metadata: { person } });
    expect(await hf.sessions.create({ id: "t", metadata: person })).toMatchObject({ metadata: person });
    expect(await hf.sessions.update("t", { metadata: { person } })).toMatchObject({ metadata: { person } });
    const input: MessageInput<Person> = { role: "user", content: "hi", metadata: person };
    expect(await hf.history.append(scope, input)).toMatchObject({ metadata: person });
  });

  test("as the metadata of many messages, of one kind or of several", async () => {
    const plain: MessageInput = { role: "user", content: "hi" };
    const several: readonly MessageInput[] = [plain, { ...plain, metadata: object }];
    expect(await hf.history.appendMany(scope, several)).toHaveLength(2);
    const made = ["a", "b"].map((content) => ({ role: "user" as const, content, metadata: person }));
    expect(await hf.history.appendMany(scope, made)).toMatchObject([{ metadata: person }, { metadata: person }]);
    const mixed = await hf.history.appendMany(scope, [
      plain,
      { role: "user", content: "one", metadata: person },
      { role: "assistant", content: [{ type: "text", text: "two" }], metadata: { n: 1 } },
    ]);
    expect(mixed.map((message) => message.metadata)).toEqual([undefined, person, { n: 1 }]);
  });
});

describe("ST7 what JSON cannot hold is refused, by the compiler too", () => {
  const refused = async (call: Promise<unknown>) => {
    const failure = await call.then(
      () => undefined,
      (error: HoldfastError) => error.code,
    );
    expect(failure).toMatch(/^Invalid(Json|Argument)$/);
  };

  test("in state, however deep", async () => {
    // @ts-expect-error a Date
    await refused(hf.state.set("s", { at: new Date(0) }));
    // @ts-expect-error a Date inside an interface
    await refused(hf.state.set("s", trip));
    // @ts-expect-error a Date inside an interface inside a list
    await refused(hf.state.patch("s", { trips: [trip] }));
    // @ts-expect-error a function
    await refused(hf.state.set("s", { run: () => 1 }));
    // @ts-expect-error a symbol
    await refused(hf.state.set("s", { id: Symbol("id") }));
    // @ts-expect-error a bigint
    await refused(hf.state.patch("s", { n: 1n }));
    // @ts-expect-error undefined in a list
    await refused(hf.state.patch("s", { list: [undefined] }));
    // @ts-expect-error a Map
    await refused(hf.state.set("s", { map: new Map() }));
    // @ts-expect-error a Set
    await refused(hf.state.compareAndSet("s", 0, { set: new Set() }));
    // @ts-expect-error bytes
    await refused(hf.state.set("s", { bytes: new Uint8Array(1) }));
    // @ts-expect-error a URL
    await refused(hf.state.set("s", { url: new URL("file:///") }));
    // @ts-expect-error a regular expression
    await refused(hf.state.set("s", { pattern: /x/ }));
    // @ts-expect-error an instance with methods
    await refused(hf.state.set("s", new Money()));
    // @ts-expect-error a list is no object
    await refused(hf.state.set("s", [1, 2]));
    // @ts-expect-error a text is no object
    await refused(hf.state.set("s", "text"));
    const unknown: unknown = new Date(0);
    // @ts-expect-error a parameter of unknown type
    await refused(hf.state.set("s", { unknown }));
  });

  test("in notes, blobs and metadata", async () => {
    const at = new Date(0);
    // @ts-expect-error a Date
    await refused(hf.log.annotate("s", { at }));
    // @ts-expect-error a Date
    await refused(hf.blobs.storeJson(at));
    // @ts-expect-error a Date
    await refused(hf.agents.create({ metadata: { at } }));
    // @ts-expect-error a Date
    await refused(hf.agents.update("ada", { metadata: trip }));
    // @ts-expect-error a Date
    await refused(hf.sessions.create({ metadata: trip }));
    // @ts-expect-error a Date
    await refused(hf.sessions.update("s", { metadata: { at } }));
    // @ts-expect-error a Date
    await refused(hf.history.append(scope, { role: "user", content: "hi", metadata: trip }));
    // @ts-expect-error a Date
    await refused(hf.history.appendMany(scope, [{ role: "user", content: "hi", metadata: { at } }]));
  });

  test("but the store still refuses what the compiler cannot see", async () => {
    const any: Json = JSON.parse("{}");
    expect(await hf.blobs.resolveJson(await hf.blobs.storeJson(any))).toEqual({});
    await refused(hf.state.set("s", { point: new Point() }));
  });
});
