// Queries of large shapes, drawn from a seed: many clauses, deep nesting, long chains, on both engines. Each gives an answer
// or an error with a code that is the caller's; how long the event loop was held by reading and compiling is printed.
// HOLDFAST_SHAPE_SEED runs one alone, HOLDFAST_SHAPE_COUNT as many as it says.
import { afterAll, beforeAll, expect, test } from "vitest";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { ENGINES, type EngineStore } from "../engines.ts";
import { type Random, random } from "./random.ts";

const COUNT = Number(process.env.HOLDFAST_SHAPE_COUNT ?? scaled({ short: 10, long: 200 }));
const only = process.env.HOLDFAST_SHAPE_SEED;
const SEEDS = only === undefined ? Array.from({ length: COUNT }, (_, i) => i + 1) : [Number(only)];
const ALLOWED = ["LimitExceeded", "InvalidQuery", "QueryTimeout"];

const sides: { readonly ground: EngineStore; readonly store: Holdfast }[] = [];
let longest = 0;

beforeAll(async () => {
  for (const engine of ENGINES) {
    const ground = await engine.fresh();
    const store = await open(ground.url);
    await store.sessions.create({ id: "a", title: "A" });
    await store.sessions.create({ id: "b", tags: ["x"] });
    for (const text of ["one", "two"]) {
      await store.history.append({ agent: "ada", session: "a" }, { role: "user", content: text });
    }
    sides.push({ ground, store });
  }
});

afterAll(async () => {
  console.log(`longest hold of the event loop: ${Math.round(longest)} ms`);
  for (const { ground, store } of sides) {
    await store.close();
    await ground.end();
  }
});

/** Of many sizes, the large ones not rare. */
const sizeOf = (draw: Random, most: number) => Math.max(1, Math.floor(most ** (draw.below(1000) / 1000)));

const times = (n: number, make: (i: number) => string) => Array.from({ length: n }, (_, i) => make(i)).join(" ");

const LEAVES: readonly ((i: number) => string)[] = [
  (i) => `[?s :session/tag "t${i}"]`,
  (i) => `[?m${i} :message/session ?s]`,
  () => "[?s :session/title ?t]",
  (i) => `[?s :session/id ?id] [(str ?id "${i}") ?w${i}]`,
  (i) => `[(get-else $ ?s :session/title "n") ?g${i}] [(count ?g${i}) ?c${i}]`,
  () => "[(missing? $ ?s :session/title)]",
  (i) => `[(ground [${i} 1]) [?k${i} ...]]`,
];

/** Clauses about ?s, some inside others. */
function part(draw: Random, depth: number): string {
  const leaf = () => `[?s :session/id] ${draw.pick(LEAVES)(draw.below(1000))}`;
  if (depth === 0) return leaf();
  const inner = part(draw, depth - 1);
  return draw.pick([
    `(not-join [?s] [?s :session/id] ${inner})`,
    `(or-join [?s] (and [?s :session/id] ${inner}) (and ${leaf()}))`,
    `(or-join [[?s]] (and ${inner}) (and ${leaf()}))`,
    `${leaf()} ${inner}`,
  ]);
}

function chain(draw: Random): string {
  const n = sizeOf(draw, 400);
  const steps: readonly ((a: string, b: string, to: string) => string)[] = [
    (a, b, to) => `[(+ ${a} ${b}) ${to}]`,
    (_, b, to) => `[(+ ${b} ${b}) ${to}]`,
    (a, b, to) => `[(- ${a} ${b}) ${to}]`,
    (a, _, to) => `[(mod ${a} 7) ${to}]`,
    (a, b, to) => `[(str ${a} ${b}) ?x${to.slice(1)}] [(count ?x${to.slice(1)}) ${to}]`,
  ];
  const one = draw.pick(steps);
  const step = draw.chance(0.5) ? () => one : () => draw.pick(steps);
  return `[(ground 1) ?v0] [(ground 2) ?v1] ${times(n, (i) => step()(`?v${i}`, `?v${i + 1}`, `?v${i + 2}`))} [(< 0 ?v${n + 1})]`;
}

function rules(draw: Random): string {
  const n = sizeOf(draw, 120);
  const step = (i: number) => `[(r${draw.chance(0.3) ? 0 : i} ?x ?y) [?x :head/basis ?z] (r${(i + 1) % n} ?z ?y)]`;
  const base = (i: number) => `[(r${i} ?x ?y) [?x :head/basis ?y] ${draw.chance(0.2) ? chain(draw) : ""}]`;
  return `${times(n, base)} ${times(n, step)}`;
}

function shape(draw: Random): string {
  const where: string[] = ["[?s :session/id]"];
  let all = "";
  if (draw.chance(0.4)) where.push(chain(draw));
  if (draw.chance(0.5)) where.push(times(sizeOf(draw, 200), (i) => draw.pick(LEAVES)(i)));
  if (draw.chance(0.5)) where.push(times(sizeOf(draw, 12), () => part(draw, sizeOf(draw, 25))));
  if (draw.chance(0.3)) {
    where.push(`[?h :head/session ?s] (r0 ?h ?g)`);
    all = ` :rules [${rules(draw)}]`;
  }
  return `[:find ?s :where ${where.join(" ")}${all}]`;
}

test.each(SEEDS)(
  "ST7 a query of a large shape is answered or refused by a code that says why: seed %i",
  async (seed) => {
    const text = shape(random(seed));
    const answers: unknown[] = [];
    for (const { ground, store } of sides) {
      const started = performance.now();
      const asked = store.query(text, [], { timeoutMs: 2000 });
      longest = Math.max(longest, performance.now() - started);
      const answer = await asked.then(
        (rows) => JSON.stringify((rows as string[][]).flat().sort()),
        (error: unknown) => {
          const code = isHoldfastError(error) ? error.code : "none";
          expect(ALLOWED, `seed ${seed} on ${ground.url}: ${String(error)}\n${text.slice(0, 2000)}`).toContain(code);
          return null;
        },
      );
      if (answer !== null) answers.push(answer);
    }
    // What both answer is the same.
    expect(new Set(answers).size, `seed ${seed}\n${text.slice(0, 2000)}`).toBeLessThan(2);
  },
  30_000,
);
