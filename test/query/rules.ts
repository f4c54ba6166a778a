// Rules for generated queries: closures from either end, doubled ones, rules that call each other, alternatives and
// negations inside.
import type { KindName } from "../../src/query/kinds.ts";

export interface RuleSet {
  readonly text: string;
  /** The same for DataScript, which finds its way through these faster: steps first, then the call. */
  readonly simple: string;
  readonly calls: readonly { readonly name: string; readonly params: readonly KindName[] }[];
}

function closure(name: string, kind: KindName, step: (a: string, b: string) => string): readonly RuleSet[] {
  const base = `[(${name} ?a ?b) ${step("?a", "?b")}]`;
  const calls = [{ name, params: [kind, kind] }];
  const simple = `[${base} [(${name} ?a ?c) ${step("?a", "?b")} (${name} ?b ?c)]]`;
  return [
    { text: simple, simple, calls },
    { text: `[${base} [(${name} ?a ?c) (${name} ?a ?b) ${step("?b", "?c")}]]`, simple, calls },
    { text: `[${base} [(${name} ?a ?c) (${name} ?a ?b) (${name} ?b ?c)]]`, simple, calls },
  ];
}

const based = (a: string, b: string) => `[${a} :head/basis ${b}]`;
const made = (a: string, b: string) => `[?d :derivation/target-session ${a}] [?d :derivation/source-session ${b}]`;
const invoked = (a: string, b: string) => `[?i :invocation/caller-session ${a}] [?i :invocation/callee-session ${b}]`;

const TIED =
  `[[(linked ?a ?b) (or-join [?a ?b] (and ${invoked("?a", "?b")}) (and ${made("?a", "?b")}))] ` +
  "[(tied ?a ?b) (linked ?a ?b)] [(tied ?a ?c) (linked ?a ?b) (tied ?b ?c)]]";
const SIMPLY_TIED = `[${[invoked, made]
  .map((step) => {
    const one = step("?a", "?b");
    return `[(linked ?a ?b) ${one}] [(tied ?a ?b) ${one}] [(tied ?a ?c) ${one} (tied ?b ?c)]`;
  })
  .join(" ")}]`;
const NOTABLE =
  '[[(notable ?c) [?c :call/cost-usd ?x] [(> ?x 0.3)]] [(notable ?c) [?c :call/status "error"]] ' +
  "[(plain ?c) [?c :call/status _] (not (notable ?c))]]";

export const RULES: readonly RuleSet[] = [
  ...closure("up", "head", based),
  ...closure("from", "session", made),
  ...closure("reach", "session", invoked),
  {
    text:
      `[[(odd ?a ?b) ${invoked("?a", "?b")}] [(odd ?a ?c) (even ?a ?b) ${invoked("?b", "?c")}] ` +
      `[(even ?a ?c) (odd ?a ?b) ${invoked("?b", "?c")}]]`,
    simple:
      `[[(odd ?a ?b) ${invoked("?a", "?b")}] [(odd ?a ?c) ${invoked("?a", "?b")} (even ?b ?c)] ` +
      `[(even ?a ?c) ${invoked("?a", "?b")} (odd ?b ?c)]]`,
    calls: [
      { name: "odd", params: ["session", "session"] },
      { name: "even", params: ["session", "session"] },
    ],
  },
  {
    text: TIED,
    simple: SIMPLY_TIED,
    calls: [
      { name: "tied", params: ["session", "session"] },
      { name: "linked", params: ["session", "session"] },
    ],
  },
  {
    text: NOTABLE,
    simple: NOTABLE,
    calls: [
      { name: "notable", params: ["call"] },
      { name: "plain", params: ["call"] },
    ],
  },
];
