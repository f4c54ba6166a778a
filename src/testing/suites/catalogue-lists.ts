// Every list of the catalogue (rule ST19): the same options with the same defaults, the same orders, pages that put together are
// the whole, and cursors that no other list takes. A verb that answers with a page is tried because it is declared so, and one without
// rows to list fails here.
import assert from "node:assert/strict";
import type { AgentDefinition } from "../../contracts/agent-definitions.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Page, PageOptions } from "../../contracts/json.ts";
import { CATALOGUE } from "../../contracts/verbs/catalogue.ts";
import { PAGE, type Param, type Verb } from "../../contracts/verbs/vocabulary.ts";
import { noise, present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { memberOf, type NounName } from "./hostile-catalogue.ts";

const ROWS = 5;

/** Makes rows for a list, and gives the arguments before its options. All of them may be made in one store. */
const MAKE: Readonly<Record<string, (store: Holdfast) => Promise<readonly unknown[]>>> = {
  "agents.list": async ({ agents }) => {
    for (const n of range(ROWS)) await agents.create({ id: `agent-${n}` });
    return [];
  },
  "agents.blockVersions": async ({ agents }) => {
    await agents.create({ id: "writer" });
    for (const n of range(ROWS)) await agents.saveBlocks("writer", [{ label: "notes", value: `${n}` }]);
    return ["writer", "notes"];
  },
  "sessions.list": async ({ sessions }) => {
    for (const n of range(ROWS)) await sessions.create({ id: `listed-${n}` });
    return [];
  },
  "heads.list": async ({ sessions, heads }) => {
    await sessions.create({ id: "published" });
    for (const _ of range(ROWS)) await heads.publish("published");
    return ["published"];
  },
  "memory.list": async ({ memory }) => {
    for (const n of range(ROWS)) await memory.save(`fact ${n}`);
    return [];
  },
  "memory.history": async ({ memory }) => {
    const { id } = await memory.save("a fact that is confirmed");
    for (const _ of range(ROWS - 1)) await memory.touch(id);
    return [id];
  },
  "memory.scopes": async ({ memory }) => {
    for (const n of range(ROWS)) await memory.save("a fact", { namespace: `listed ${n}` });
    return [];
  },
  "captures.list": async ({ captures }) => {
    for (const n of range(ROWS)) {
      const sessionId = `00000000-0000-4000-8000-00000000000${n}`;
      const files = [{ role: "transcript" as const, path: `project/${sessionId}.jsonl`, content: new Uint8Array(1) }];
      await captures.save({ request: "r", agent: "claude-code", sessionId, cwd: "/", files });
    }
    return [];
  },
  "blobs.list": async ({ blobs }) => {
    for (const n of range(ROWS)) await blobs.store(noise(100, n));
    return [];
  },
  "runs.list": async (store) => {
    await askingRuns(store);
    return [];
  },
  "runs.pending": async (store) => {
    await askingRuns(store);
    return [];
  },
  "runs.decisions": async (store) => {
    await askingRuns(store);
    return [];
  },
};

/** Runs that each wait for a person. */
async function askingRuns({ runs }: Holdfast): Promise<void> {
  const agent: AgentDefinition = {
    id: "asker",
    version: "1",
    tools: { pay: { approve: true, execute: () => null } },
    iterate: async (it) => {
      await it.tool("pay", {});
      return it.done();
    },
  };
  for (const n of range(ROWS)) {
    if ((await runs.get(`r${n}`)) !== null) continue;
    const { status } = await runs.execute(agent, { session: `s${n}`, id: `r${n}` }, { wait: false });
    assert.equal(status, "waiting");
  }
}

type ListVerb = (...args: readonly unknown[]) => Promise<Page<unknown>>;

async function proveList(list: ListVerb, before: readonly unknown[], what: string): Promise<void> {
  const page = (options?: PageOptions) => list(...before, ...(options === undefined ? [] : [options]));
  const newest = await page();
  assert.equal(newest.items.length, ROWS, `${what} lists all rows by default`);
  assert.equal(newest.next, null, what);
  assert.deepEqual(await page({ order: "newest" }), newest, `${what} is newest first by default`);
  const oldest = await page({ order: "oldest" });
  assert.deepEqual(oldest.items, newest.items.toReversed(), `${what}: oldest is newest turned round`);
  for (const [order, whole] of [["newest", newest] as const, ["oldest", oldest] as const]) {
    // `next` is given back as it is, so null must mean the beginning, like undefined.
    for (const first of [undefined, null]) {
      const items: unknown[] = [];
      let pages = 0;
      let cursor: string | null | undefined = first;
      do {
        const one: Page<unknown> = await page({ order, limit: 2, cursor });
        items.push(...one.items);
        pages++;
        cursor = one.next;
      } while (cursor !== null && pages < ROWS);
      assert.equal(pages, Math.ceil(ROWS / 2), `${what}: next is null at the end`);
      assert.deepEqual(items, whole.items, `${what}: pages by ${order} are the whole`);
    }
  }
}

/** A cursor goes on in the list, the order and the filter that it was returned for, and nowhere else. */
async function proveCursors(store: Holdfast, what: string): Promise<void> {
  const [noun, name] = what.split(".") as [NounName, string];
  const before = await present(MAKE[what], `rows for ${what}`)(store);
  const page = (options: object) => (memberOf(store, noun, name) as ListVerb)(...before, options);
  const wrong = await refuses("InvalidArgument", async () => {
    const { next } = await page({ limit: 2, order: "newest" });
    return page({ order: "oldest", cursor: next });
  });
  assert.match(wrong.message, new RegExp(`another call of ${what.replace(".", "[.]")}`));
  const whole = present((await page({ limit: 2 })).next);
  const text = Buffer.from(whole, "base64url").toString();
  // The same list, filter and order at another position.
  const moved = Buffer.from(text.replace(/\d(?= [0-9a-f]{8}$)/, (digit) => (digit === "1" ? "2" : "1"))).toString(
    "base64url",
  );
  assert.notEqual(moved, whole);
  for (const broken of [whole.slice(0, -1), whole.slice(0, -2), `${whole}=`, ` ${whole}`, `${whole}AAAA`, moved]) {
    await refuses("InvalidArgument", () => page({ cursor: broken }), `${what} with ${broken}, made of ${whole}`);
  }
  for (const [other, make] of Object.entries(MAKE)) {
    if (other === what) continue;
    const [otherNoun, otherName] = other.split(".") as [NounName, string];
    const args = await make(store);
    const { next } = await (memberOf(store, otherNoun, otherName) as ListVerb)(...args, { limit: 1 });
    const error = await refuses(
      "InvalidArgument",
      () => page({ cursor: present(next) }),
      `${what} with that of ${other}`,
    );
    assert.equal(error.message, `cursor belongs to ${other}, not to ${what}`);
    assert.deepEqual(error.details, { what: "cursor", list: what, cursorOf: other });
  }
}

/** A value for each filter of a list that the call without filters does not have. */
const FILTERS: Readonly<Record<string, unknown>> = {
  agent: "claude-code",
  agentType: "agent",
  answered: true,
  attribute: "home",
  createdAfter: 1,
  createdBefore: 1e12,
  diverged: true,
  kind: "goal",
  namespace: "other",
  request: "r",
  run: "r1",
  session: "s1",
  sessionId: "00000000-0000-4000-8000-000000000001",
  sort: "size",
  subject: "Ada",
  superseded: true,
  tag: "x",
};

/** A list of rows that match a filter does not continue where a list without that filter ended. */
async function proveFilters(store: Holdfast, what: string, verb: Verb): Promise<void> {
  const [noun, name] = what.split(".") as [NounName, string];
  const before = await present(MAKE[what], `rows for ${what}`)(store);
  const page = (options: object) => (memberOf(store, noun, name) as ListVerb)(...before, options);
  const cursor = present((await page({ limit: 2 })).next);
  const { schema } = present(verb.params.at(-1));
  const fields = schema.kind === "record" ? Object.keys(schema.fields) : [];
  for (const field of fields.filter((one) => !["limit", "cursor", "order"].includes(one))) {
    const value =
      field === "status" ? (noun === "runs" ? "waiting" : "open") : present(FILTERS[field], `${what} by ${field}`);
    const { message } = await refuses("InvalidArgument", () => page({ [field]: value, cursor }), `${what} by ${field}`);
    assert.match(message, /another call of/, `${what} by ${field}`);
  }
  if (what !== "heads.list") return;
  const head = present((await store.heads.list("published", { limit: 2 })).items[1]);
  await refuses("InvalidArgument", () => store.heads.list(`published@${head.id}`, { cursor }), "heads at a head");
}

/** The options of a list: its last parameter, a record with the fields of every list. */
function checkDeclaration({ params, result }: Verb, what: string): void {
  const { schema } = params.at(-1) ?? ({ schema: { kind: "boolean" } } as Param);
  const fields = schema.kind === "record" ? schema.fields : {};
  if (result !== "page") {
    assert.equal("cursor" in fields, false, `${what} takes a cursor, and does not answer with a page`);
    return;
  }
  assert.deepEqual(fields.limit, PAGE.limit, `${what}: limit`);
  for (const name of ["cursor", "order"]) assert.equal(fields[name]?.optional, true, `${what}: ${name}`);
}

export const listCases: readonly Case[] = (Object.keys(CATALOGUE) as NounName[]).flatMap((noun) =>
  Object.entries<Verb>(CATALOGUE[noun]).flatMap(([name, verb]) => {
    const what = `${noun}.${name}`;
    checkDeclaration(verb, what);
    if (verb.result !== "page") return [];
    return [
      prove(`ST19 ${what}: pages, orders and defaults are those of every list`, ["lineage"], async (given) => {
        // A store that offers the lineage offers every noun.
        const store = given.lineage as Holdfast;
        const before = await present(MAKE[what], `rows for ${what}`)(store);
        await proveList(memberOf(store, noun, name) as ListVerb, before, what);
      }),
      prove(`ST19 ${what}: refuses a cursor of another list or order, or that is not whole`, ["lineage"], (given) =>
        proveCursors(given.lineage as Holdfast, what),
      ),
      prove(`ST19 ${what}: refuses a cursor with another filter`, ["lineage"], (given) =>
        proveFilters(given.lineage as Holdfast, what, verb),
      ),
    ];
  }),
);
