// An import of a module of Node loads all of it: `import { statSync } from "node:fs"` also loads streams and promises, and
// node:crypto takes longer to load than an append takes. In the bundle, the first call of a function of such a
// module loads it.
import type { Plugin } from "rolldown";
import { parseSync } from "rolldown/utils";

/** The modules that are loaded late. Others are imported as usual, because programs use their classes at once. */
const LAZY = /^node:(?:buffer|child_process|crypto|fs|fs\/promises|net|os|path|stream|timers\/promises|url|util|zlib)$/;

export const lazyBuiltins: Plugin = {
  name: "lazy-builtins",
  transform: {
    filter: { id: /\.ts$/, code: /from "node:/ },
    handler(code, id) {
      const { module } = parseSync(id, code);
      const imports = module.staticImports.filter(({ moduleRequest }) => LAZY.test(moduleRequest.value));
      // From the last to the first, so that the positions of earlier ones stay valid.
      const rewritten = imports.reduceRight((text, { start, end, moduleRequest, entries }) => {
        const names = entries
          .filter(({ isType }) => !isType)
          .map(({ importName, localName }) => ({ name: importName.name ?? null, local: localName.value }));
        // The number of lines stays the same, so that the source map stays valid.
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
 * Declarations in place of the imports. They are hoisted, as imports are. A Node that is too old has no getBuiltinModule; it must
 * still load the package, because open() reports that it is too old.
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
