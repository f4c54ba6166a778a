// Values as the feature files write them: nodes as (:Label {key: value}), relationships as [:TYPE], paths as <()-[:TYPE]->()>. Expected
// and actual values are compared as texts in one canonical form.
import { formatNumber } from "../../src/query/cypher/values/format.ts";
import {
  type CypherMap,
  type CypherValue,
  isList,
  isMap,
  isNode,
  isRelationship,
  type NodeValue,
  type PathValue,
  type RelationshipValue,
} from "../../src/query/cypher/values/value.ts";

/** `ignoresOrder`: of the items of lists. */
export function printValue(value: CypherValue, ignoresOrder: boolean): string {
  if (value === null) return "null";
  if (typeof value === "string") return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : formatNumber(value + 0);
  if (typeof value !== "object") return String(value);
  if (isList(value)) {
    const items = value.map((item) => printValue(item, ignoresOrder));
    return `[${(ignoresOrder ? items.toSorted() : items).join(", ")}]`;
  }
  if (isMap(value)) return printMap(value, ignoresOrder);
  if (isNode(value)) return printNode(value, ignoresOrder);
  if (isRelationship(value)) return printRelationship(value, ignoresOrder);
  return printPath(value, ignoresOrder);
}

function printMap(map: CypherMap, ignoresOrder: boolean): string {
  const entries = [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `${key}: ${printValue(value, ignoresOrder)}`).join(", ")}}`;
}

function printNode(node: Pick<NodeValue, "labels" | "properties">, ignoresOrder: boolean): string {
  const labels = [...node.labels].toSorted().map((label) => `:${label}`);
  const properties = node.properties.size === 0 ? "" : printMap(node.properties, ignoresOrder);
  return `(${[labels.join(""), properties].filter((part) => part !== "").join(" ")})`;
}

function printRelationship(
  { type, properties }: Pick<RelationshipValue, "type" | "properties">,
  ignoresOrder: boolean,
) {
  return `[:${type}${properties.size === 0 ? "" : ` ${printMap(properties, ignoresOrder)}`}]`;
}

function printPath({ nodes, relationships }: PathValue, ignoresOrder: boolean): string {
  const parts = nodes.map((node, index) => {
    const relationship = relationships[index - 1];
    const shown = printNode(node, ignoresOrder);
    if (relationship === undefined) return shown;
    const link = printRelationship(relationship, ignoresOrder);
    const isForward = relationship.source === nodes[index - 1]?.id && relationship.target === node.id;
    return isForward ? `-${link}->${shown}` : `<-${link}-${shown}`;
  });
  return `<${parts.join("")}>`;
}

/** Reads a value of a table. */
export function readValue(text: string): CypherValue {
  const reader = new ValueReader(text);
  const value = reader.value();
  reader.expectEnd();
  return value;
}

class ValueReader {
  readonly #text: string;
  #at = 0;
  #ids = 0;

  constructor(text: string) {
    this.#text = text;
  }

  expectEnd(): void {
    this.#space();
    if (this.#at < this.#text.length) throw new Error(`this is no value: ${this.#text}`);
  }

  value(): CypherValue {
    this.#space();
    const first = this.#text[this.#at];
    if (first === "'") return this.#string();
    if (first === "[") return this.#text[this.#at + 1] === ":" ? this.#relationship() : this.#list();
    if (first === "{") return this.#map();
    if (first === "(") return this.#node();
    if (first === "<") return this.#path();
    return this.#plain();
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? "x")) this.#at++;
  }

  #take(symbol: string): boolean {
    this.#space();
    if (!this.#text.startsWith(symbol, this.#at)) return false;
    this.#at += symbol.length;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw new Error(`${symbol} is missing at ${this.#at} of ${this.#text}`);
  }

  #match(pattern: RegExp): string {
    this.#space();
    const found = new RegExp(pattern.source, `${pattern.flags}y`);
    found.lastIndex = this.#at;
    const text = found.exec(this.#text)?.[0];
    if (text === undefined) throw new Error(`this is no value at ${this.#at}: ${this.#text}`);
    this.#at += text.length;
    return text;
  }

  #plain(): CypherValue {
    const text = this.#match(/[-+\w.]+/);
    if (text === "null") return null;
    if (text === "true" || text === "false") return text === "true";
    if (text === "NaN") return Number.NaN;
    if (/^[-+]?Inf/.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    return /^[-+]?\d+$/.test(text) ? BigInt(text) : Number(text);
  }

  #string(): string {
    const quoted = this.#match(/'(?:\\.|[^'\\])*'/s);
    return quoted.slice(1, -1).replace(/\\(.)/gs, "$1");
  }

  #list(): CypherValue {
    this.#expect("[");
    const items: CypherValue[] = [];
    while (!this.#take("]")) {
      if (items.length > 0) this.#expect(",");
      items.push(this.value());
    }
    return items;
  }

  #map(): CypherMap {
    this.#expect("{");
    const map = new Map<string, CypherValue>();
    while (!this.#take("}")) {
      if (map.size > 0) this.#expect(",");
      const key = this.#match(/\w+/);
      this.#expect(":");
      map.set(key, this.value());
    }
    return map;
  }

  #node(): NodeValue {
    this.#expect("(");
    const labels = new Set<string>();
    while (this.#take(":")) labels.add(this.#match(/\w+/));
    this.#space();
    const properties: CypherMap = this.#text[this.#at] === "{" ? this.#map() : new Map();
    this.#expect(")");
    return { kind: "node", id: `${++this.#ids}`, labels, properties, isDeleted: false };
  }

  #relationship(): RelationshipValue {
    this.#expect("[");
    this.#expect(":");
    const type = this.#match(/\w+/);
    this.#space();
    const properties: CypherMap = this.#text[this.#at] === "{" ? this.#map() : new Map();
    this.#expect("]");
    return { kind: "relationship", id: `${++this.#ids}`, type, source: "", target: "", properties, isDeleted: false };
  }

  #path(): PathValue {
    this.#expect("<");
    const nodes = [this.#node()];
    const relationships: RelationshipValue[] = [];
    while (!this.#take(">")) {
      const isBackward = this.#take("<");
      this.#expect("-");
      const relationship = this.#relationship();
      this.#expect("-");
      if (!isBackward) this.#expect(">");
      const from = nodes.at(-1)?.id ?? "";
      const to = this.#node();
      nodes.push(to);
      const [source, target] = isBackward ? [to.id, from] : [from, to.id];
      relationships.push({ ...relationship, source, target });
    }
    return { kind: "path", nodes, relationships };
  }
}
