// Where a module that is imported with `import()`, or an entry, shares its chunk with others, the bundler adds a file that only
// passes its exports on. Node finds, reads and links each such file like any other; without it a program starts sooner. A chunk that
// imported such a file to get its own exports must not import itself in its place: other bundlers fail on such a module.
import * as path from "node:path";
import type { OutputBundle, OutputChunk, Plugin } from "rolldown";

const FACADE = /^import \{ ([^}]+) \} from "([^"]+)";\s*export \{ ([^}]+) \};\s*(?:\/\/# sourceMappingURL=.*\s*)?$/;

/** Removes the facades. A facade of an entry is removed only if `replaced` says which chunk gets the entry's file name. */
export function noFacades(replaced: ReadonlySet<string>): Plugin {
  return {
    name: "no-facades",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
      for (const facade of chunks) {
        const target = targetOf(facade, bundle);
        if (target === undefined || (facade.isEntry && !replaced.has(facade.name))) continue;
        for (const chunk of chunks) {
          chunk.code =
            chunk === target ? readingItself(chunk, facade) : importing(chunk, facade.fileName, target.fileName);
        }
        delete bundle[facade.fileName];
        delete bundle[`${facade.fileName}.map`];
      }
      for (const name of replaced) {
        const left = chunks.find((one) => one.isEntry && one.name === name);
        if (left !== undefined && left.fileName in bundle)
          throw new Error(`${left.fileName} does more than pass exports on`);
      }
    },
  };
}

/** The chunk whose exports the file passes on under the same names; undefined if the file is no facade. */
function targetOf({ code, fileName }: OutputChunk, bundle: OutputBundle): OutputChunk | undefined {
  const [, imported = "", from = "", exported = ""] = FACADE.exec(code) ?? [];
  const names = exported.split(", ");
  if (exported === "" || !names.every((name) => imported.split(", ").includes(name))) return undefined;
  const target = bundle[path.posix.join(path.posix.dirname(fileName), from)];
  return target?.type === "chunk" ? target : undefined;
}

/** The code of a chunk with imports of one chunk in place of imports of the other. */
function importing(chunk: OutputChunk, facade: string, target: string): string {
  if (chunk.imports.includes(facade)) throw new Error(`${chunk.fileName} imports ${facade} statically`);
  return chunk.code.replaceAll(importOf(chunk, facade), importOf(chunk, target));
}

/** The code of a chunk that builds the facade's exports from its own variables in place of importing the facade. */
function readingItself(chunk: OutputChunk, facade: OutputChunk): string {
  const call = importOf(chunk, facade.fileName);
  if (!chunk.code.includes(call)) return chunk.code;
  const end = chunk.code.lastIndexOf("\nexport {");
  const exported = /^\nexport \{ ([^}]+) \};/.exec(chunk.code.slice(end))?.[1]?.split(", ") ?? [];
  const variables = new Map(
    exported.map((one) => one.split(" as ")).map(([local = "", name = local]) => [name, local]),
  );
  const members = facade.exports.map((name) => {
    const variable = variables.get(name);
    if (variable === undefined)
      throw new Error(`${chunk.fileName} has no export ${name}, which ${facade.fileName} has`);
    return `${name}: ${variable}`;
  });
  // At the top level, because a variable of the function that imported it can have the name of an export.
  const maker = `exportsOf_${facade.name.replace(/\W/g, "_")}`;
  if (chunk.code.includes(maker)) throw new Error(`${chunk.fileName} has a name ${maker} already`);
  const made = `\nfunction ${maker}() { return { ${members.join(", ")} }; }`;
  const code = chunk.code.slice(0, end) + made + chunk.code.slice(end);
  return code.replaceAll(call, `Promise.resolve().then(${maker})`);
}

/** How the code of a chunk imports a file with `import()`. */
function importOf(chunk: OutputChunk, file: string): string {
  const relative = path.posix.relative(path.posix.dirname(chunk.fileName), file);
  return `import(${JSON.stringify(relative.startsWith(".") ? relative : `./${relative}`)})`;
}
