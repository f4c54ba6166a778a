// The hostile suite: whatever plain JavaScript callers hand in ends in a typed error before anything is written, or
// comes back exactly. It needs a whole store.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { refuses } from "../expect.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { limitCases } from "./catalogue-limits.ts";
import { listCases } from "./catalogue-lists.ts";
import { sessionNameCases } from "./catalogue-sessions.ts";
import { CALLS, type Call, type CallTargets, makeCallTargets } from "./hostile-calls.ts";
import { catalogueCases } from "./hostile-catalogue.ts";
import { hostileIdCases } from "./hostile-ids.ts";
import { plain, variants } from "./hostile-values.ts";

export function runHostileSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `hostile input: ${name}`,
    [...typeCases, ...catalogueCases, ...sessionNameCases, ...listCases, ...limitCases, ...hostileIdCases],
    make,
    options,
  );
}

const WHOLE = ["agents", "sessions", "history", "state", "tasks", "blobs", "log", "stats"] as const;

/** What was written, as far as it can be counted. */
async function counts(store: Pick<Holdfast, "stats">): Promise<unknown> {
  const { nouns, blobs, sessions } = await store.stats();
  return { nouns, blobs, sessions };
}

async function refusesAll(targets: CallTargets, call: Call): Promise<string[]> {
  const before = await counts(targets.store);
  const failures: string[] = [];
  let thrown = 0;
  for (const { name, args, codes } of variants(call.args, call.required)) {
    const attempt = () => {
      try {
        return call.run(...args);
      } catch (error) {
        thrown++;
        return Promise.reject(error);
      }
    };
    await refuses(codes, attempt, `${call.name}: ${name}`).catch((error) => failures.push(error.message));
  }
  // A method that promises an answer must promise its refusals too: `.catch()` has to see them.
  if (thrown > 0) failures.push(`${call.name} threw ${thrown} times at once, where it should have rejected`);
  const after = await counts(targets.store);
  if (!isDeepStrictEqual(after, before)) failures.push(`${call.name} wrote something that it refused`);
  return failures;
}

/** The table's own arguments are fine, so what the variants were refused for is what was changed in them. */
async function acceptsTable(call: Call): Promise<string[]> {
  try {
    await call.run(...call.args.map(plain));
    return [];
  } catch (error) {
    const fine = ["NotFound", "Conflict", "InvalidText", "InvalidJson"];
    const isAboutRows = isHoldfastError(error) && fine.includes(error.code);
    return isAboutRows ? [] : [`${call.name}: the table's own arguments were refused: ${error}`];
  }
}

async function everyCall(nouns: Pick<CaseContext, (typeof WHOLE)[number]>, noun: keyof typeof CALLS): Promise<void> {
  const targets = await makeCallTargets(nouns as Holdfast);
  const failures: string[] = [];
  for (const call of CALLS[noun](targets)) {
    failures.push(...(await refusesAll(targets, call)), ...(await acceptsTable(call)));
  }
  if (failures.length > 0) assert.fail(`${failures.length} failures:\n${failures.join("\n")}`);
}

const typeCases: readonly Case[] = [
  prove("ST7 sessions: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "sessions")),
  prove("ST7 history: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "history")),
  prove("ST7 state: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "state")),
  prove("ST7 tasks: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "tasks")),
  prove("ST7 agents: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "agents")),
  prove("ST7 blobs: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "blobs")),
  prove("ST7 log: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "log")),
  prove("ST7 invocations: wrong things are refused in every place", [...WHOLE, "lineage"], (nouns) =>
    // A fixture that offers the lineage offers the whole store.
    everyCall(nouns.lineage as Holdfast, "invocations"),
  ),
  prove("ST7 the store itself: wrong things are refused in every place", WHOLE, (nouns) => everyCall(nouns, "store")),
];
