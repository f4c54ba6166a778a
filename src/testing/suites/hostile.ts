// The hostile suite: whatever plain JavaScript callers hand in ends in a typed error before anything is written, or
// comes back exactly. It needs a whole store.
import assert from "node:assert/strict";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { refuses } from "../expect.ts";
import { type Case, type MakeFixture, type Offers, prove, runCases, type SuiteOptions } from "../suite.ts";
import { CALLS, type Call, makeWorld, type World } from "./hostile-calls.ts";
import { hostileIdCases } from "./hostile-ids.ts";
import { plain, variants } from "./hostile-values.ts";

export function runHostileSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`hostile input: ${name}`, [...typeCases, ...hostileIdCases], make, options);
}

const WHOLE = ["agents", "sessions", "history", "state", "tasks", "blobs", "log", "stats"] as const;

/** What was written, as far as it can be counted. */
async function counts(store: Pick<Holdfast, "stats">): Promise<unknown> {
  const { nouns, blobs, sessions } = await store.stats();
  return { nouns, blobs, sessions };
}

async function refusesAll(world: World, call: Call): Promise<void> {
  const before = await counts(world.store);
  const wrong = variants(call.args, call.required);
  const failures: string[] = [];
  for (const { name, args, codes } of wrong) {
    const what = `${call.name}: ${name}`;
    await refuses(codes, () => promised(call, args), what).catch((error) => failures.push(error.message));
  }
  assert.deepEqual(failures, []);
  assert.deepEqual(await counts(world.store), before, `${call.name} wrote something it refused`);
}

/** A method that promises an answer must promise its refusals too: `.catch()` has to see them. */
function promised(call: Call, args: readonly unknown[]): unknown {
  try {
    return call.run(...args);
  } catch (error) {
    assert.fail(`${call.name} threw at once instead of rejecting: ${error}`);
  }
}

/** The table's own arguments are fine, so what the variants were refused for is what was changed in them. */
async function acceptsTable(call: Call): Promise<void> {
  try {
    await call.run(...call.args.map(plain));
  } catch (error) {
    const fine = ["NotFound", "Conflict", "InvalidText", "InvalidJson"];
    const isAboutRows = isHoldfastError(error) && fine.includes(error.code);
    if (!isAboutRows) assert.fail(`${call.name}: the table's own arguments were refused: ${error}`);
  }
}

async function everyCall(given: Pick<Offers, (typeof WHOLE)[number]>, noun: keyof typeof CALLS): Promise<void> {
  const world = await makeWorld(given as Holdfast);
  const failures: string[] = [];
  for (const call of CALLS[noun](world)) {
    await refusesAll(world, call).catch((error) => failures.push(error.message));
    await acceptsTable(call).catch((error) => failures.push(error.message));
  }
  assert.deepEqual(failures, []);
}

const typeCases: readonly Case[] = [
  prove("ST7 sessions: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "sessions")),
  prove("ST7 history: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "history")),
  prove("ST7 state: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "state")),
  prove("ST7 tasks: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "tasks")),
  prove("ST7 agents: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "agents")),
  prove("ST7 blobs: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "blobs")),
  prove("ST7 log: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "log")),
  prove("ST7 the store itself: wrong things are refused in every place", WHOLE, (given) => everyCall(given, "store")),
];
