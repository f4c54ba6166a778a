// The public surface as text: every name that package.json's exports lead to, with its declaration. The report is
// committed, so that a reviewer sees any change of it. `--write` renews api-report.md; without it, a stale one fails.
import { readFileSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import ts from "typescript";

export const REPORT = "api-report.md";

const HEADER = `# Public API

Written by \`npm run api-report\`; do not edit. Every exported name of each entry point, without comments and bodies.
`;

/** Returns the report on the package in a folder; throws if its source does not compile to declarations. */
export function apiReport(root: string): string {
  const { options } = readProject(root);
  return reportOn(root, ts.createProgram(sourcesOf(root, entryPoints(root)), options));
}

/** The options and files of tsconfig.json. */
export function readProject(root: string): ts.ParsedCommandLine {
  const { config } = ts.readConfigFile(path.join(root, "tsconfig.json"), ts.sys.readFile);
  return ts.parseJsonConfigFileContent(config, ts.sys, root);
}

/**
 * The report on a program that has the entry points among its files. The order of inferred unions follows the order in which
 * the checker meets their parts: pass a program that nothing has checked yet.
 */
export function reportOn(root: string, sources: ts.Program): string {
  const entries = entryPoints(root);
  const program = declarationProgram(root, sourcesOf(root, entries), sources);
  const checker = program.getTypeChecker();
  const modules = entries.map(({ name, source }) => {
    const file = program.getSourceFile(declarationOf(source));
    const module = file && checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${path.relative(root, source)} exports nothing`);
    return { name, exported: exportsOf(checker, module) };
  });
  // A hidden declaration is printed once, under the first entry that leads to it.
  const known = new Set(modules.flatMap(({ exported }) => exported.map(({ symbol }) => symbol)));
  const sections = modules.map(({ name, exported }) => `\n## ${name}\n${section(checker, exported, known)}`);
  return HEADER + sections.join("");
}

/** What is wrong with the committed report, or nothing. */
export function staleness(root: string, report: string): string | undefined {
  const isCurrent = ts.sys.readFile(path.join(root, REPORT)) === report;
  return isCurrent ? undefined : `${REPORT} is stale: run npm run api-report and review the difference`;
}

/** `"./testing": { "types": "./dist/types/testing/entry.d.ts" }` is written in src/testing/entry.ts. */
function entryPoints(root: string): { name: string; source: string }[] {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  return Object.entries<string | { types?: string }>(manifest.exports).flatMap(([subpath, target]) => {
    const file = typeof target === "string" ? undefined : target.types;
    if (file === undefined) return [];
    const source = path.join(root, file.replace(/^\.\/dist\/types\//, "src/").replace(/\.d\.ts$/, ".ts"));
    return [{ name: path.posix.join(manifest.name, subpath), source }];
  });
}

function sourcesOf(root: string, entries: readonly { readonly source: string }[]): string[] {
  const sources = entries.map(({ source }) => source);
  const missing = sources.filter((source) => !ts.sys.fileExists(source));
  if (missing.length > 0) {
    throw new Error(
      `no such file: ${missing.map((file) => path.relative(root, file)).join(", ")} (package.json exports)`,
    );
  }
  return sources;
}

/** Declarations are emitted in memory and read back: there, inferred types are spelled out and bodies are gone. */
function declarationProgram(root: string, entries: readonly string[], sources: ts.Program): ts.Program {
  const emitted = emitDeclarations(root, sources);
  const options = sources.getCompilerOptions();
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  const isOwnSource = (file: string) => emitted.has(declarationOf(path.normalize(file)));
  host.fileExists = (file) => emitted.has(path.normalize(file)) || (!isOwnSource(file) && fileExists(file));
  host.readFile = (file) => emitted.get(path.normalize(file)) ?? readFile(file);
  host.getSourceFile = (file, ...rest) => {
    const text = emitted.get(path.normalize(file));
    if (text !== undefined) return ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true);
    return sources.getSourceFile(file) ?? getSourceFile(file, ...rest);
  };
  return ts.createProgram(entries.map(declarationOf), options, host);
}

/** TypeScript's own tools pass `forceDeclarations` too; it is not among the parameters that its types name. */
type EmitDeclarations = (
  file: ts.SourceFile,
  writeFile: ts.WriteFileCallback,
  cancellation: undefined,
  onlyDeclarations: true,
  transformers: undefined,
  forceDeclarations: true,
) => ts.EmitResult;

/** The text of the declarations of every file below src but tests, by path. */
function emitDeclarations(root: string, program: ts.Program): ReadonlyMap<string, string> {
  const folder = path.join(root, "src") + path.sep;
  const files = program
    .getSourceFiles()
    .filter(({ fileName }) => path.normalize(fileName).startsWith(folder) && !fileName.endsWith(".test.ts"))
    .toSorted((a, b) => (a.fileName < b.fileName ? -1 : 1));
  const emitted = new Map<string, string>();
  const emit: EmitDeclarations = program.emit;
  const errors = files.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...emit(file, (name, text) => emitted.set(path.normalize(name), text), undefined, true, undefined, true)
      .diagnostics,
  ]);
  if (errors.length > 0) throw new Error(ts.formatDiagnostics(errors, formatHost(root)));
  return emitted;
}

function declarationOf(source: string): string {
  return source.replace(/(?<!\.d)\.ts$/, ".d.ts");
}

function formatHost(root: string): ts.FormatDiagnosticsHost {
  return { getCurrentDirectory: () => root, getCanonicalFileName: (file) => file, getNewLine: () => "\n" };
}

/** The exported names, then the declarations of this package that they refer to and that no entry exports. */
function section(checker: ts.TypeChecker, exported: readonly NamedSymbol[], known: Set<ts.Symbol>): string {
  const hidden: NamedSymbol[] = [];
  const toVisit = exported.map(({ symbol }) => symbol);
  for (const symbol of toVisit) {
    for (const reached of symbolsReached(checker, symbol)) {
      if (known.has(reached)) continue;
      known.add(reached);
      hidden.push({ name: reached.name, symbol: reached });
      toVisit.push(reached); // this loop goes on to what is added on the way
    }
  }
  if (hidden.length === 0) return block(exported);
  return `${block(exported)}\nReached through the above, not exported:\n${block(hidden.sort(byName))}`;
}

interface NamedSymbol {
  name: string;
  symbol: ts.Symbol;
}

function block(names: readonly NamedSymbol[]): string {
  const text = names.map(({ name, symbol }) => declarations(name, symbol)).join("\n");
  return `\n\`\`\`ts\n${foldShort(text.split("\n")).join("\n")}\n\`\`\`\n`;
}

const LINE_WIDTH = 120;

/**
 * Puts an object type or tuple on one line where that fits. Each member of a declared interface or class has its own line,
 * unless there is only one: so a difference of the report names the member.
 */
function foldShort(lines: readonly string[]): string[] {
  const folded: string[] = [];
  for (const line of lines) {
    folded.push(line);
    const indent = /^( *)[}\]]/.exec(line)?.[1];
    if (indent === undefined) continue;
    const start = folded.findLastIndex((one, i) => i < folded.length - 1 && !one.startsWith(`${indent}    `));
    const [opening = "", ...members] = folded.slice(start, -1);
    const isDeclared = /^(interface|class|const) /.test(opening) && indent === "";
    if (!/[{[]$/.test(opening) || (isDeclared && members.length > 1)) continue;
    const space = opening.endsWith("{") ? " " : "";
    const joined = opening + space + members.map((member) => member.trim()).join(" ") + space + line.trim();
    if (joined.length <= LINE_WIDTH) folded.splice(start, folded.length, joined);
  }
  return folded;
}

function exportsOf(checker: ts.TypeChecker, module: ts.Symbol, prefix = ""): NamedSymbol[] {
  const found = checker.getExportsOfModule(module).flatMap((symbol): NamedSymbol[] => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const name = prefix + symbol.name;
    const isNamespace = target.flags & ts.SymbolFlags.ValueModule && target.declarations?.some(ts.isSourceFile);
    return isNamespace ? exportsOf(checker, target, `${name}.`) : [{ name, symbol: target }];
  });
  return found.sort(byName);
}

/** Compares by code unit, so that the order is the same on every machine. */
function byName(a: NamedSymbol, b: NamedSymbol): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function symbolsReached(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol[] {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (isPrivate(node)) return;
    if (ts.isIdentifier(node) || ts.isImportTypeNode(node)) {
      const named = checker.getSymbolAtLocation(ts.isImportTypeNode(node) ? (node.qualifier ?? node) : node);
      const target = named && named.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(named) : named;
      if (target && target !== symbol && isOwnTopLevel(target)) found.add(target);
    }
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return [...found];
}

function isOwnTopLevel(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((declaration) => {
    const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    return (
      ts.isSourceFile(statement.parent ?? statement) &&
      !/[\\/]node_modules[\\/]/.test(declaration.getSourceFile().fileName)
    );
  });
}

function isPrivate(node: ts.Node): boolean {
  if (!ts.isClassElement(node)) return false;
  const flags = ts.getCombinedModifierFlags(node);
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (flags & hidden) !== 0 || (node.name !== undefined && ts.isPrivateIdentifier(node.name));
}

/** All declarations of one name (overloads; a type and a value that share it), under the name it is exported by. */
function declarations(name: string, symbol: ts.Symbol): string {
  const printed = (symbol.declarations ?? []).map((declaration) => {
    const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
    return print(statement).replace(/^(export |default |declare )+/, "");
  });
  const texts = [...new Set(printed)];
  return symbol.name === name ? texts.join("\n") : [`// ${name}`, ...texts].join("\n");
}

function print(node: ts.Node): string {
  const printer = ts.createPrinter({ removeComments: true });
  const { transformed } = ts.transform(node, [
    (context) => (root) => {
      const visit = (child: ts.Node): ts.Node | undefined =>
        isPrivate(child) ? undefined : ts.visitEachChild(child, visit, context);
      return ts.visitEachChild(root, visit, context);
    },
  ]);
  return printer.printNode(ts.EmitHint.Unspecified, transformed[0] ?? node, node.getSourceFile());
}

if (import.meta.main) {
  const root = path.resolve(import.meta.dirname, "..");
  const report = apiReport(root);
  const stale = staleness(root, report);
  if (process.argv.includes("--write")) {
    if (stale !== undefined) writeFileSync(path.join(root, REPORT), report);
    console.log(stale === undefined ? `${REPORT} is up to date` : `wrote ${REPORT}`);
  } else if (stale !== undefined) {
    console.error(stale);
    process.exitCode = 1;
  }
}
