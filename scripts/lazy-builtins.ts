// To import a module of Node is to load all of it: `import { statSync } from "node:fs"` also loads streams and promises, and
// node:crypto takes longer to load than an append takes. In the bundle a function of such a module is fetched with its first
// call, together with what it needs and nothing else.

import type { Plugin } from "rolldown";
import { parseSync } from "rolldown/utils";

/** Others are imported as ever: programs use their classes, which have to be there at once. */
const LAZY = /^node:(?:buffer|child_process|crypto|fs|fs\/promises|net|os|path|stream|timers\/promises|url|util|zlib)$/;

export const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  transform: {
    filter: { id: /\.ts$/, code: /from "node:/ },
    handler(code, id) {
      const { module } = parseSync(id, code);
      const imports = module.staticImports.filter(({ moduleRequest }) => LAZY.test(moduleRequest.value));
      // From the last to the first, so that the places of those before it stay right.
      const rewritten = imports.reduceRight((text, { start, end, moduleRequest, entries }) => {
        const names = entries
          .filter(({ isType }) => !isType)
          .map(({ importName, localName }) => ({ name: importName.name ?? null, local: localName.value }));
        // As many lines as before: the source map stays right.
        const lines = text.slice(start, end).replace(/[^\n]/g, "");
        return text.slice(0, start) + fetched(moduleRequest.value, names) + lines + text.slice(end);
      }, code);
      return imports.length === 0 ? null : { code: rewritten, map: null };
    },
  },
};

interface ImportedName {
  /** null: the whole module. */
  readonly name: string | null;
  readonly local: string;
}

/**
 * Declarations for what was imported. They are hoisted, as imports are. A Node that is too old has no getBuiltinModule; it must
 * still load the package, because open() tells it so.
 */
function fetched(id: string, imported: readonly ImportedName[]): string {
  const module = process.getBuiltinModule(id) as Readonly<Record<string, unknown>>;
  const variable = id.replace(/\W/g, "_");
  const declared = imported.map(({ name, local }) => {
    if (name === null) return `const ${local} = /* @__PURE__ */ process.getBuiltinModule?.("${id}");`;
    if (isFunction(name, module[name])) {
      return `function ${local}(...args) { return (${variable} ??= process.getBuiltinModule("${id}")).${name}(...args); }`;
    }
    return `const ${local} = /* @__PURE__ */ (() => process.getBuiltinModule?.("${id}").${name})();`;
  });
  return [`var ${variable};`, ...declared].join(" ");
}

/** Classes begin with a capital, and cannot be called through another function. */
function isFunction(name: string, value: unknown): boolean {
  return typeof value === "function" && /^[a-z]/.test(name);
}
