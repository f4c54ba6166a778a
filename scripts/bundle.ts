// Bundles the sources into dist/: a file for each entry, and chunks that entries share, so that every class exists once
// however many entries a program imports. A module that is imported with `import()` gets its own chunk, which is loaded on first use.
import * as path from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { asciiCode } from "./ascii-code.ts";
import { lazyBuiltins } from "./lazy-builtins.ts";
import { lazyCommands } from "./lazy-commands.ts";
import { noFacades } from "./no-facades.ts";

const root = path.resolve(import.meta.dirname, "..");

/** The files of dist/ that package.json, bin/holdfast.js or src/cli/package-files.ts name. */
const ENTRIES = {
  index: "src/index.ts",
  claude: "src/adapters/claude/entry.ts",
  coding: "src/coding/entry.ts",
  embedders: "src/embedders/entry.ts",
  "long-term-memory": "src/adapters/long-term-memory.ts",
  "memory-tools": "src/adapters/memory-tools/entry.ts",
  "task-store": "src/adapters/task-store.ts",
  testing: "src/testing/entry.ts",
  cli: "src/cli/main.ts",
  "demo-agent": "src/cli/demo/agent.ts",
  "node-version": "src/core/node.ts",
} as const;

/** Entries that other chunks import too. The chunk with their modules has the name of the file, so there is no second file. */
const SHARED_ENTRIES: ReadonlySet<string> = new Set(["cli", "node-version"]);

/** The modules with which commands read input and print tables: most commands need them. */
const COMMAND = [ENTRIES.cli, "src/cli/confirm.ts", "src/cli/input.ts", "src/cli/table.ts", "src/cli/tree.ts"];

/** The modules that a program loads to append a message to a SQLite store. PostgreSQL and all other code are in other chunks. */
const STORE = ["src/open.ts", "src/storage/sql/sqlite/driver.ts"];

/** The modules that such a program loads in addition for the other verbs of sessions. */
const NOUNS = ["src/nouns.ts"];
const OTHERS = [
  ENTRIES.claude,
  ENTRIES.coding,
  ENTRIES.embedders,
  ENTRIES["long-term-memory"],
  ENTRIES["memory-tools"],
  ENTRIES["task-store"],
  ENTRIES.testing,
];

/** The entries that programs import. None of them may load the command line: an app that bundles the package would contain all of it. */
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
    // A warning is an error below, and on a busy machine these would be warnings.
    checks: { bundlerTimings: false },
    onLog: (level, log) => {
      if (level === "warn") throw new Error(`the bundler warns: ${log.message}`);
    },
  });
  await build.write({
    dir: folder,
    format: "esm",
    sourcemap: true,
    // Names stay as in the sources, because people read stacks and the size does not matter.
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
            modules.sharedBy([[ENTRIES.index], [ENTRIES.cli], [ENTRIES.embedders], [...STORE, ...NOUNS]]).has(id) ||
            (modules.reachedFrom(COMMAND).has(id) && modules.everReachedFrom(LIBRARY).has(id)),
          priority: 2,
        },
        // Separate from modules that other entries import too: these must load on a Node without SQLite, to report what is missing.
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

/** Finds the modules that an entry imports, directly or through others. */
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

  /** The modules that the entries load, without those behind `import()`. */
  reachedFrom(entries: readonly string[]): ReadonlySet<string> {
    return this.#reach(entries, [this.#imports]);
  }

  /** The modules that the entries may ever load, including those behind `import()`. */
  everReachedFrom(entries: readonly string[]): ReadonlySet<string> {
    return this.#reach(entries, [this.#imports, this.#dynamicImports]);
  }

  /** The modules that at least two of the groups of entries load. */
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
