// Every number of rows that a verb of the catalogue takes (rule ST8), such as `limit`: from 1 to the limit that its declaration names.
import assert from "node:assert/strict";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { CATALOGUE } from "../../contracts/verbs/catalogue.ts";
import type { Verb } from "../../contracts/verbs/vocabulary.ts";
import { refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { callVerb, makeExamples, memberOf, type NounName } from "./hostile-catalogue.ts";
import { plain } from "./hostile-values.ts";
import { exampleArguments } from "./hostile-verbs.ts";

/** What may not be given together with another number of rows. */
const INSTEAD: Readonly<Record<string, readonly string[]>> = { last: ["limit", "offset"], limit: ["last"] };

async function proveLimits(store: Holdfast, noun: NounName, name: string, verb: Verb): Promise<void> {
  const args = exampleArguments(verb, await makeExamples(store)).map(plain);
  for (const [n, { schema }] of verb.params.entries()) {
    if (schema.kind !== "record") continue;
    for (const [field, inner] of Object.entries(schema.fields)) {
      if (inner.kind !== "limit") continue;
      const others = Object.entries(args[n] as object).filter(([other]) => !INSTEAD[field]?.includes(other));
      const call = (value: number) =>
        callVerb(
          verb,
          memberOf(store, noun, name),
          args.map((one, m) => (m === n ? { ...Object.fromEntries(others), [field]: value } : one)),
        );
      const what = `${noun}.${name} with ${field}`;
      const most = LIMITS[inner.limit];
      for (const few of [0, -1]) {
        const { message } = await refuses("InvalidArgument", () => call(few), `${what} ${few}`);
        assert.equal(message, `${field} must be between 1 and ${most}, not ${few}`, what);
      }
      const { details } = await refuses("LimitExceeded", () => call(most + 1), `${what} ${most + 1}`);
      assert.deepEqual(details, { limit: inner.limit, max: most, actual: most + 1 }, what);
    }
  }
}

const hasLimit = ({ params }: Verb): boolean =>
  params.some(
    ({ schema }) => schema.kind === "record" && Object.values(schema.fields).some(({ kind }) => kind === "limit"),
  );

export const limitCases: readonly Case[] = (Object.keys(CATALOGUE) as NounName[]).flatMap((noun) =>
  Object.entries<Verb>(CATALOGUE[noun])
    .filter(([, verb]) => hasLimit(verb))
    .map(([name, verb]) =>
      prove(`ST8 ${noun}.${name}: a number of rows is from 1 to its limit`, ["lineage"], (given) =>
        // A store that offers the lineage offers every noun.
        proveLimits(given.lineage as Holdfast, noun, name, verb),
      ),
    ),
);
