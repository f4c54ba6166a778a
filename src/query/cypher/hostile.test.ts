// Hostile and damaged queries: each runs or is refused with a typed error, and names and texts with any characters stay names and texts.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CypherGraph } from "../../../test/query/cypher-graph.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import { scaled } from "../../testing/scale.ts";

const QUERIES = [
  `MATCH p = (a:A {x: 1})-[r:T|U*1..3]->(b)<--(c), (d) WHERE a.x > 1 AND NOT (a)-->()
   RETURN p, r, collect(DISTINCT b.x) AS c ORDER BY c LIMIT 3`,
  "OPTIONAL MATCH (a)-[r]-(b) WITH a, count(r) AS n WHERE n > $p RETURN a {.x, .*, n} AS m SKIP 1",
  "UNWIND [1, 2.5, 'three', null, [4], {five: 6}] AS x WITH x ORDER BY x DESC RETURN DISTINCT x, CASE x WHEN 1 THEN 'one' ELSE x END",
  "MERGE (a:A {x: 1})-[r:T]->(b:B) ON CREATE SET r.y = 2, a += {z: 3} ON MATCH SET b:C RETURN a, r, b",
  "MATCH (a) SET a.x = coalesce(a.x, 0) + 1, a = {y: 2} REMOVE a.y, a:A WITH a DETACH DELETE a",
  "CREATE (a:A $p), (a)-[:T {l: [1, 2][0..1]}]->(:B)<-[:U]-(a) RETURN [x IN range(0, 5, 2) WHERE x % 2 = 0 | x ^ 2]",
  `RETURN all(x IN [1] WHERE x > 0) XOR EXISTS { MATCH (n) RETURN n } AS a, reduce(s = '', y IN ['a'] | s + y) AS b
   UNION RETURN 1 AS a, \`odd name\` AS b`,
  "MATCH (a), (b) RETURN shortestPath((a)-[*]-(b)), [(a)-[r]->(x) WHERE r.y | x.z], size(split('a,b', ',')), -0x1F, 1e3, \"t\\n\"",
];

const TOKENS = QUERIES.map((query) => query.match(/'[^']*'|"[^"]*"|`[^`]*`|\w+|\s+|[^\s\w]/g) ?? []);
const POOL = [
  ...TOKENS.flat(),
  "`",
  "'",
  "/*",
  "//",
  "\\",
  "$",
  "\u0000",
  "–",
  "😀",
  "0x",
  "..",
  "=~",
  "CALL",
  "date()",
  "\ud800",
];

interface Damage {
  readonly at: number;
  readonly removed: number;
  readonly added: readonly string[];
}

const damages: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.record({
    at: fc.nat(200),
    removed: fc.nat(3),
    added: fc.oneof(
      fc.array(fc.constantFrom(...POOL), { maxLength: 3 }),
      fc
        .tuple(fc.constantFrom(...TOKENS), fc.nat(60), fc.nat(12))
        .map(([from, at, count]) => from.slice(at, at + count)),
    ),
  }),
  { maxLength: 4 },
);

describe("damaged queries", () => {
  test("run, or are refused with a typed error", async () => {
    let ran = 0;
    const limits = { timeoutMs: 1000, maxIntermediateRows: 50_000, maxHeldValues: 500_000 };
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...TOKENS), damages, async (tokens, list) => {
        const query = list.reduce<readonly string[]>((now, { at, removed, added }) => {
          const place = at % (now.length + 1);
          return [...now.slice(0, place), ...added, ...now.slice(place + removed)];
        }, tokens);
        const graph = new CypherGraph();
        await graph.run("CREATE (a:A {x: 1})-[:T]->(b:B {x: 2})-[:U {y: true}]->(a), (:C {x: 'c'})");
        try {
          await graph.run(query.join(""), { p: { x: 1 } }, { limits });
          ran++;
        } catch (error) {
          expect(
            isHoldfastError(error) && ["InvalidQuery", "LimitExceeded", "QueryTimeout"].includes(error.code),
            String(error),
          ).toBe(true);
        }
      }),
      { numRuns: scaled({ short: 200, long: 20_000 }) },
    );
    expect(ran).toBeGreaterThan(10);
  });
});

describe("names and texts", () => {
  const texts = [
    "'; DROP TABLE nodes; --",
    "x`) DETACH DELETE (n) //",
    "a' OR '1'='1",
    "$p",
    "{x: 1}",
    "__proto__",
    "constructor",
    "\n\t\\",
    "😀 名前",
    " node 0",
    "node 0",
    "MATCH",
  ];

  test.each(texts)("%j stays a text, a property key, a label and a type", async (text) => {
    const graph = new CypherGraph();
    await graph.run("CREATE (:Kept)");
    const name = `\`${text.replaceAll("`", "``")}\``;
    await graph.run(`CREATE (a:${name} {${name}: $text})-[:${name}]->(b)`, { text });
    const items = [`${name}.${name}`, "type(r)", `labels(${name})[0]`, `keys(${name})[0]`].map(
      (item) => `${item} = $text`,
    );
    const query = `MATCH (${name}:${name} {${name}: $text})-[r:${name}]->() RETURN true AS ${name}, ${items.join(", ")}`;
    const { columns } = await graph.run(query, { text });
    expect(columns[0]).toBe(text);
    expect(await graph.rows(query, { text })).toEqual(["true | true | true | true | true"]);
    expect(await graph.rows("MATCH (n:Kept) RETURN count(n)")).toEqual(["1"]);
  });

  test.each(texts)("%j as a text of the query is the same as the parameter", async (text) => {
    const quoted = `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
    expect(await new CypherGraph().rows(`RETURN ${quoted} = $text`, { text })).toEqual(["true"]);
  });

  test.each([
    "MATCH (n:A`) RETURN n",
    "MATCH (n:A;B) RETURN n",
    "RETURN 'a'; RETURN 2",
    "MATCH (n {$k: 1}) RETURN n",
    "MATCH (n:$l) RETURN n",
  ])("%s is refused", async (query) => {
    expect(await new CypherGraph().refusal(query, { k: "x", l: "L" })).toBe(
      "SyntaxError compile time: UnexpectedSyntax",
    );
  });
});
