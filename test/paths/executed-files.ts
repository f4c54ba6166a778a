// Which files of src run code while a function runs: V8 counts the calls of every function of this process.
import { Session } from "node:inspector/promises";

const SOURCES = "/src/";

/** The files, from src/ on, in order of their names. Code that only runs when a module is loaded does not count. */
export async function executedFiles(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  session.disconnect();
  const files = result.flatMap(({ url, functions }) => {
    const at = url.lastIndexOf(SOURCES);
    // The function that spans the whole file is the module itself.
    const isExecuted = functions.some(({ ranges }) =>
      ranges.some(({ startOffset, count }) => startOffset > 0 && count > 0),
    );
    return at >= 0 && isExecuted ? [url.slice(at + 1)] : [];
  });
  return [...new Set(files)].toSorted();
}
