// Where a module that is imported with `import()`, or an entry, shares its chunk with others, the bundler adds a file that only
// passes its exports on. Each such file is found, read and linked like any other; without it a program starts sooner. A chunk that
// imported such a file to get its own exports must not import itself instead: other bundlers fail on a module that does.

import * as path from "node:path";
import type { OutputBundle, OutputChunk, Plugin } from "rolldown";

const FACADE = /^import \{ ([^}]+) \} from "([^"]+)";\s*export \{ ([^}]+) \};\s*(?:\/\/# sourceMappingURL=.*\s*)?$/;

/** Removes them. Those of entries only where `replaced` says which chunk has the file name of the entry. */
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

/** The chunk whose exports it passes on, all under the names that they have there; undefined when it is no facade. */
function targetOf({ code, fileName }: OutputChunk, bundle: OutputBundle): OutputChunk | undefined {
  const [, imported = "", from = "", exported = ""] = FACADE.exec(code) ?? [];
  const names = exported.split(", ");
  if (exported === "" || !names.every((name) => imported.split(", ").includes(name))) return undefined;
  const target = bundle[path.posix.join(path.posix.dirname(fileName), from)];
  return target?.type === "chunk" ? target : undefined;
}

/** The code of a chunk that imports the one where it imported the other. */
function importing(chunk: OutputChunk, facade: string, target: string): string {
  if (chunk.imports.includes(facade)) throw new Error(`${chunk.fileName} imports ${facade} statically`);
  return chunk.code.replaceAll(importOf(chunk, facade), importOf(chunk, target));
}

/** The code of a chunk that makes the exports of the facade out of its own variables where it imported the facade. */
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
