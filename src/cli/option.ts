// The options of commands: their syntax and their help. An option whose value goes to an API verb takes its bounds and
// choices from the verb's schema.
import { LIMITS } from "../contracts/limits.ts";

/** The syntax of an option. */
export interface OptionSyntax {
  /** flag takes no value; list may be given several times. */
  readonly type: "flag" | "text" | "number" | "list";
  readonly short?: string;
  /** The bounds of a number. */
  readonly min?: number;
  readonly max?: number;
  /** The only values that a text may have. */
  readonly choices?: readonly string[];
}

export interface OptionSpec extends OptionSyntax {
  readonly summary: string;
  /** The name of the value in --help. */
  readonly value?: string;
}

export type Options = Readonly<Record<string, OptionSpec>>;

export type OptionSyntaxes = Readonly<Record<string, OptionSyntax>>;

/** Options that every command takes. */
export const GLOBAL_OPTIONS = {
  store: {
    type: "text",
    value: "URL",
    summary: "the store: a file or postgres://…  (default $HOLDFAST_STORE, else ./holdfast.db)",
  },
  "blob-dir": {
    type: "text",
    value: "DIR",
    summary: "the directory of blobs, for a store that keeps them in files  (default $HOLDFAST_BLOB_DIR)",
  },
  json: { type: "flag", summary: "print one JSON document; errors are JSON on stderr" },
  help: { type: "flag", short: "h", summary: "explain the command" },
  version: { type: "flag", short: "v", summary: "print the version" },
} as const satisfies Options;

/** A command that has this option opens the store with an embedder, if the user names one. */
export const EMBEDDER_OPTION = {
  embedder: {
    type: "text",
    value: "EMBEDDER",
    summary: "find by meaning too: openai:URL#MODEL  (default $HOLDFAST_EMBEDDER; the key: $HOLDFAST_EMBEDDER_KEY)",
  },
} as const satisfies Options;

/** An option that takes one of the schema's choices. */
export function choiceOption({ of }: { readonly of: readonly string[] }): OptionSyntax {
  return { type: "text", choices: of };
}

/** An option that takes a number within the schema's bounds. */
export function numberOption({ min, max }: { readonly min: number; readonly max: number }): OptionSyntax {
  return { type: "number", min, max };
}

/** Options for the number of rows of a list, and where the page begins. */
export function pageOptions(limit: number) {
  return {
    limit: { type: "number", min: 1, max: LIMITS.page, summary: `list at most N (default ${limit})` },
    cursor: { type: "text", summary: "print the next page; the note below a page shows its cursor" },
  } as const satisfies Readonly<Record<string, OptionSpec>>;
}
