// The types of the whole repository, as `tsc --noEmit --incremental` checks them, and api-report.md, from one program: reading
// and resolving the files is half of the work of either. `npm run check` runs it.
import * as path from "node:path";
import ts from "typescript";
import { formatHost, readProject, reportOn, staleness } from "./api-report.ts";

const root = path.resolve(import.meta.dirname, "..");
/** The compiler's cache of results for unchanged files. */
const CACHE = path.join(root, "node_modules", ".cache", "holdfast", "types.tsbuildinfo");

function checkTypes(): readonly string[] {
  const project = readProject(root);
  const options = { ...project.options, incremental: true, tsBuildInfoFile: CACHE };
  const host = ts.createIncrementalCompilerHost(options);
  const { fileNames: rootNames, errors: configFileParsingDiagnostics } = project;
  const program = ts.createIncrementalProgram({ rootNames, options, host, configFileParsingDiagnostics });
  const problems: string[] = [];
  try {
    const stale = staleness(root, reportOn(root, program.getProgram()));
    if (stale !== undefined) problems.push(stale);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  const diagnostics = [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSemanticDiagnostics(),
    // With noEmit it writes the cache and nothing else.
    ...program.emit().diagnostics,
  ];
  const format = process.env.FORCE_COLOR === "1" ? ts.formatDiagnosticsWithColorAndContext : ts.formatDiagnostics;
  if (diagnostics.length > 0) {
    problems.unshift(format(ts.sortAndDeduplicateDiagnostics(diagnostics), formatHost(root)));
  }
  return problems;
}

const problems = checkTypes();
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
