// The runner of `npm run tck` on a feature of our own: outlines, tables, side effects, errors, and what it calls unsupported.
import { describe, expect, test } from "vitest";
import { readFeature } from "../../scripts/tck/gherkin.ts";
import { runCase } from "../../scripts/tck/run-case.ts";
import { scoreOf, subsetOf } from "../../scripts/tck/subsets.ts";
import { printValue, readValue } from "../../scripts/tck/values.ts";

const FEATURE = `
Feature: Ours

  Background:
    Given any graph

  # A comment.
  @tag
  Scenario: [1] rows in any order
    Given the two graph
    When executing query:
      """
      MATCH (n)
      RETURN n.x AS x
      """
    Then the result should be, in any order:
      | x |
      | 2 |
      | 1 |
    And no side effects

  Scenario: [2] the order is wrong
    When executing query:
      """
      UNWIND [1, 2] AS x RETURN x
      """
    Then the result should be, in order:
      | x |
      | 2 |
      | 1 |

  Scenario Outline: [3] <text> is <value>
    And parameters are:
      | p | <value> |
    When executing query:
      """
      CREATE (:N {x: $p}) RETURN <text> AS v
      """
    Then the result should be, in any order:
      | v       |
      | <value> |
    And the side effects should be:
      | +nodes      | 1 |
      | +labels     | 1 |
      | +properties | 1 |

    Examples:
      | text        | value  |
      | 'a' + '\\|' | 'a\\|' |
      | 1 + 1       | 2      |
      | 1 + 1       | 3      |

  Scenario: [4] an error
    When executing query:
      """
      RETURN missing
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  Scenario: [5] another error than expected
    When executing query:
      """
      RETURN 1 / 0
      """
    Then a SyntaxError should be raised at compile time: UndefinedVariable

  Scenario: [6] unsupported
    When executing query:
      """
      RETURN date('2026-11-20') AS d
      """
    Then the result should be, in any order:
      | d |

  Scenario: [7] lists in any order
    When executing query:
      """
      RETURN [1, 2] AS l UNION ALL RETURN [] AS l
      """
    Then the result should be (ignoring element order for lists):
      | l      |
      | []     |
      | [2, 1] |
`;

describe("npm run tck", () => {
  test("judges each case", async () => {
    const cases = readFeature("ours", FEATURE);
    const named = new Map([["two", "CREATE ({x: 1}), ({x: 2})"]]);
    const results = [];
    for (const one of cases) results.push({ case: one, verdict: await runCase(one, named) });
    expect(results.map(({ case: one, verdict }) => [one.scenario.slice(1, 2), one.example, verdict.kind])).toEqual([
      ["1", undefined, "passed"],
      ["2", undefined, "failed"],
      ["3", 1, "passed"],
      ["3", 2, "passed"],
      ["3", 3, "failed"],
      ["4", undefined, "passed"],
      ["5", undefined, "failed"],
      ["6", undefined, "unsupported"],
      ["7", undefined, "passed"],
    ]);
    expect(cases.map(subsetOf)).toEqual([...Array.from({ length: 7 }, () => "core"), "outside", "extended"]);
    expect(scoreOf(results)).toMatchObject({
      core: { passed: 4, failed: 3, total: 7 },
      extended: { passed: 5, failed: 3, total: 8 },
      all: { unsupported: 1, total: 9 },
    });
  });

  test.each([
    "null",
    "-1.5",
    "1.0",
    "NaN",
    "'it\\'s'",
    "[1, [], {a: null}]",
    "(:A:B {x: 1})",
    "()",
    "[:T {x: 'y'}]",
    "<(:A)-[:T]->()<-[:U]-(:B)>",
  ])("reads and prints %s", (text) => {
    expect(printValue(readValue(text), false)).toBe(text);
  });
});
