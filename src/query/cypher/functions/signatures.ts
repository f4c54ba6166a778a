// The functions that a query can call: how many operands they take, of which types, and what they return. What they do is in
// the other files of this folder.
import { once } from "../../../core/memoize.ts";

/** What is known of a value before the query runs. `any`: nothing. */
export type StaticType =
  | { readonly kind: "any" | "null" | "boolean" | "integer" | "float" | "number" | "string" | "map" }
  | { readonly kind: "node" | "relationship" | "path" }
  | { readonly kind: "list"; readonly element: StaticType };

export type StaticKind = StaticType["kind"];

export interface FunctionSignature {
  readonly min: number;
  readonly max: number;
  /** Kinds that the first operand may have; undefined: any. A mismatch is found before the query runs. */
  readonly accepts: readonly StaticKind[] | undefined;
  readonly returns: StaticKind;
  /** Of a list that it returns. */
  readonly element: StaticKind;
  readonly isAggregate: boolean;
}

/** name, operands, what the first one may be, result (`list:element`). */
const FUNCTIONS = `
abs 1 number|integer|float number
acos 1 number|integer|float float
allshortestpaths 1 - list:path
asin 1 number|integer|float float
atan 1 number|integer|float float
atan2 2 number|integer|float float
ceil 1 number|integer|float float
char_length 1 string integer
character_length 1 string integer
coalesce 1-1000 - any
cos 1 number|integer|float float
cot 1 number|integer|float float
degrees 1 number|integer|float float
e 0 - float
elementid 1 node|relationship string
endnode 1 relationship node
exists 1 - boolean
exp 1 number|integer|float float
floor 1 number|integer|float float
haversin 1 number|integer|float float
head 1 list any
id 1 node|relationship any
isempty 1 list|map|string boolean
isnan 1 number|integer|float boolean
keys 1 node|relationship|map list:string
labels 1 node list:string
last 1 list any
left 2 string string
length 1 path integer
log 1 number|integer|float float
log10 1 number|integer|float float
lower 1 string string
ltrim 1-2 string string
nodes 1 path list:node
nullif 2 - any
pi 0 - float
properties 1 node|relationship|map map
radians 1 number|integer|float float
rand 0 - float
range 2-3 - list:integer
relationships 1 path list:relationship
rels 1 path list:relationship
replace 3 string string
reverse 1 list|string any
right 2 string string
round 1-3 number|integer|float float
rtrim 1-2 string string
sign 1 number|integer|float integer
sin 1 number|integer|float float
size 1 list|string|map integer
split 2 string list:string
sqrt 1 number|integer|float float
startnode 1 relationship node
substring 2-3 string string
tail 1 list list
tan 1 number|integer|float float
toboolean 1 - boolean
tobooleanlist 1 list list:boolean
tobooleanornull 1 - boolean
tofloat 1 - float
tofloatlist 1 list list:float
tofloatornull 1 - float
tointeger 1 - integer
tointegerlist 1 list list:integer
tointegerornull 1 - integer
tolower 1 string string
tostring 1 - string
tostringlist 1 list list:string
tostringornull 1 - string
toupper 1 string string
trim 1 string string
type 1 relationship string
upper 1 string string
valuetype 1 - string`;

const AGGREGATES = `
avg 1 - any
collect 1 - list
count 1 - integer
max 1 - any
min 1 - any
percentilecont 2 - float
percentiledisc 2 - any
stdev 1 - float
stdevp 1 - float
sum 1 - any`;

export const signatures = once((): ReadonlyMap<string, FunctionSignature> => {
  const read = (table: string, isAggregate: boolean) =>
    table
      .trim()
      .split("\n")
      .map((line): readonly [string, FunctionSignature] => {
        const [name = "", counts = "", accepts = "", result = ""] = line.split(" ");
        const [min = "", max = min] = counts.split("-");
        const [returns, element = "any"] = result.split(":");
        const kinds = accepts === "-" ? undefined : accepts.split("|").map(staticKind);
        return [
          name,
          {
            min: +min,
            max: +max,
            accepts: kinds,
            returns: staticKind(returns),
            element: staticKind(element),
            isAggregate,
          },
        ];
      });
  return new Map([...read(FUNCTIONS, false), ...read(AGGREGATES, true)]);
});

const KINDS = [
  "any",
  "null",
  "boolean",
  "integer",
  "float",
  "number",
  "string",
  "map",
  "node",
  "relationship",
  "path",
  "list",
] as const satisfies readonly StaticKind[];

function staticKind(text: string | undefined): StaticKind {
  const kind = KINDS.find((one) => one === text);
  if (kind === undefined) throw new Error(`bug: no type is called ${text}`);
  return kind;
}

export const ANY: StaticType = { kind: "any" };

export function isAggregateName(name: string): boolean {
  return signatures().get(name)?.isAggregate === true;
}
