// Bundles the sources into dist/: a file for each entry, and chunks that entries share, so that every class exists once
// however many entries a program imports. What is imported with `import()` becomes a chunk of its own, loaded on first use.

import * as path from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { asciiCode } from "./ascii-code.ts";
import { lazyBuiltins } from "./lazy-builtins.ts";
import { lazyCommands } from "./lazy-commands.ts";
import { noFacades } from "./no-facades.ts";

const root = path.resolve(import.meta.dirname, "..");

/** The files of dist/ that something outside of it names: package.json, bin/holdfast.js and src/cli/package-files.ts. */
const ENTRIES = {
  index: "src/index.ts",
  claude: "src/adapters/claude/entry.ts",
  coding: "src/coding/entry.ts",
  "task-store": "src/adapters/task-store.ts",
  testing: "src/testing/entry.ts",
  cli: "src/cli/main.ts",
  "demo-agent": "src/cli/demo/agent.ts",
  "node-version": "src/core/node.ts",
} as const;

/** Entries that other chunks import too: the chunk with their modules has the name of the file, and there is no other. */
const SHARED_ENTRIES: ReadonlySet<string> = new Set(["cli", "node-version"]);

/** What a command needs to read its input and to print tables: most of them do. */
const COMMAND = [ENTRIES.cli, "src/cli/confirm.ts", "src/cli/input.ts", "src/cli/table.ts", "src/cli/tree.ts"];

/** What a program that appends a message to a SQLite store loads; PostgreSQL and all else come in chunks of their own. */
const STORE = ["src/open.ts", "src/storage/sql/sqlite/driver.ts"];

/** What it loads in addition to call anything else of a session's. */
const NOUNS = ["src/nouns.ts"];
const OTHERS = [ENTRIES.claude, ENTRIES.coding, ENTRIES["task-store"], ENTRIES.testing];

/** What programs import. None of it may load the command line: an app that bundles the package would carry all of it along. */
const LIBRARY = [ENTRIES.index, ...OTHERS];

/** Writes the bundle into that folder. */
export async function bundle(folder: string): Promise<void> {
  const modules = new ModuleGraph();
  const isOfStore = (id: string) => modules.reachedFrom(STORE).has(id);
  const build = await rolldown({
    cwd: root,
    input: ENTRIES,
    platform: "node",
    external: [/^node:/, "postgres"],
    // The groups below say which module is in which file; the bundler would move some of them elsewhere.
    experimental: { chunkOptimization: false },
    plugins: [modules.plugin, lazyBuiltins, lazyCommands(path.join(root, "src/cli"))],
    onLog: (level, log) => {
      if (level === "warn") throw new Error(`the bundler warns: ${log.message}`);
    },
  });
  await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    // Names stay as they are in the sources: stacks are read by people, and nothing has to be small.
    minify: false,
    minifyInternalExports: false,
    comments: false,
    entryFileNames: ({ name }) => (SHARED_ENTRIES.has(name) ? "entries/[name].js" : "[name].js"),
    chunkFileNames: ({ name }) => (SHARED_ENTRIES.has(name) ? "[name].js" : "chunks/[name]-[hash].js"),
    plugins: [asciiCode, noFacades(SHARED_ENTRIES)],
    codeSplitting: {
      // Without these, modules would be split by which of the many entries and chunks use them, into many small files.
      groups: [
        { name: "node-version", test: (id) => id === path.join(root, ENTRIES["node-version"]), priority: 3 },
        {
          name: "core",
          test: (id) =>
            modules.sharedBy([[ENTRIES.index], [ENTRIES.cli], [...STORE, ...NOUNS]]).has(id) ||
            (modules.reachedFrom(COMMAND).has(id) && modules.everReachedFrom(LIBRARY).has(id)),
          priority: 2,
        },
        // Apart from what other entries import too: those must load on a Node without SQLite, to say what is missing.
        { name: "common", test: (id) => isOfStore(id) && modules.reachedFrom(OTHERS).has(id), priority: 1 },
        { name: "store", test: isOfStore },
        { name: "nouns", test: (id) => modules.reachedFrom(NOUNS).has(id) },
        { name: "cli", test: (id) => modules.reachedFrom(COMMAND).has(id) },
      ],
    },
  });
  await build.close();
  await bundleEdge(folder);
}

/**
 * holdfast/edge in one file, because a chunk that it shared with others would bring what they import: a Worker has no node:sqlite.
 * HoldfastError recognises the instances of both bundles.
 */
async function bundleEdge(folder: string): Promise<void> {
  const build = await rolldown({
    cwd: root,
    input: { edge: "src/edge.ts" },
    platform: "node",
    external: [/^node:/, "postgres"],
  });
  await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    minify: false,
    comments: false,
    entryFileNames: "[name].js",
    codeSplitting: false,
  });
  await build.close();
}

/** Which modules an entry imports, directly or through others. */
class ModuleGraph {
  readonly #imports = new Map<string, readonly string[]>();
  readonly #dynamicImports = new Map<string, readonly string[]>();
  readonly #reached = new Map<string, ReadonlySet<string>>();

  readonly plugin: Plugin = {
    name: "module-graph",
    moduleParsed: ({ id, importedIds, dynamicallyImportedIds }) => {
      this.#imports.set(id, importedIds);
      this.#dynamicImports.set(id, dynamicallyImportedIds);
    },
  };

  /** Without what is imported with `import()`. */
  reachedFrom(entries: readonly string[]): ReadonlySet<string> {
    return this.#reach(entries, [this.#imports]);
  }

  /** With what is imported with `import()`. */
  everReachedFrom(entries: readonly string[]): ReadonlySet<string> {
    return this.#reach(entries, [this.#imports, this.#dynamicImports]);
  }

  /** By at least two of the groups of entries. */
  sharedBy(groups: readonly (readonly string[])[]): ReadonlySet<string> {
    const seen = new Set<string>();
    const shared = new Set<string>();
    for (const entries of groups) {
      for (const id of this.reachedFrom(entries)) (seen.has(id) ? shared : seen).add(id);
    }
    return shared;
  }

  #reach(entries: readonly string[], imports: readonly ReadonlyMap<string, readonly string[]>[]): ReadonlySet<string> {
    const key = `${imports.length} ${entries.join()}`;
    const known = this.#reached.get(key);
    if (known !== undefined) return known;
    const reached = new Set(entries.map((entry) => path.join(root, entry)));
    for (const id of reached) {
      for (const one of imports) for (const imported of one.get(id) ?? []) reached.add(imported);
    }
    this.#reached.set(key, reached);
    return reached;
  }
}
