// Writes forms as EDN text, which reads back as the same forms.
import { printInstant } from "../core/instant.ts";
import { type Form, shorten } from "./form.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
};

/** The characters that have names; others are written as themselves, or by number where they could not be seen. */
export const CHARACTERS: Readonly<Record<string, string>> = {
  newline: "\n",
  return: "\r",
  space: " ",
  tab: "\t",
  formfeed: "\f",
  backspace: "\b",
};

export function writeEdn(form: Form): string {
  switch (form.kind) {
    case "nil":
      return "nil";
    case "boolean":
    case "int":
      return String(form.value);
    case "float":
      return Number.isInteger(form.value) ? `${form.value}.0` : String(form.value);
    case "string":
      return writeString(form.value);
    case "char":
      return writeCharacter(form.value);
    case "uuid":
      return `#uuid "${form.value}"`;
    case "inst":
      return `#inst "${printInstant(form.value)}"`;
    case "keyword":
    case "symbol":
      return form.name;
    case "list":
      return `(${form.items.map(writeEdn).join(" ")})`;
    case "vector":
      return `[${form.items.map(writeEdn).join(" ")}]`;
    case "set":
      return `#{${form.items.map(writeEdn).join(" ")}}`;
    case "map":
      return `{${form.entries.map(([key, value]) => `${writeEdn(key)} ${writeEdn(value)}`).join(", ")}}`;
  }
}

/** Formats a form for an error. */
export function show(form: Form): string {
  return shorten(writeEdn(form));
}

function writeString(value: string): string {
  return `"${value.replace(/["\\\p{Cc}]/gu, (char) => ESCAPES[char] ?? byNumber(char))}"`;
}

function writeCharacter(value: string): string {
  const name = Object.keys(CHARACTERS).find((one) => CHARACTERS[one] === value);
  if (name !== undefined) return `\\${name}`;
  return /[\p{C}\p{Z}]/u.test(value) && value.length === 1 ? `\\${byNumber(value).slice(1)}` : `\\${value}`;
}

function byNumber(char: string): string {
  return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
