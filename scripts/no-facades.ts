// Where a module that is imported with `import()`, or an entry, shares its chunk with others, the bundler adds a file that only
// passes its exports on. Each such file is found, read and linked like any other; without it a program starts sooner.

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
        for (const chunk of chunks) chunk.code = importing(chunk, facade.fileName, target.fileName);
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
  const named = (file: string) => {
    const relative = path.posix.relative(path.posix.dirname(chunk.fileName), file);
    return JSON.stringify(relative.startsWith(".") ? relative : `./${relative}`);
  };
  if (chunk.imports.includes(facade)) throw new Error(`${chunk.fileName} imports ${facade} statically`);
  return chunk.code.replaceAll(`import(${named(facade)})`, `import(${named(target)})`);
}
