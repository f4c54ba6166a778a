// How much processor time a file of tests took, in its own process and in the programs that it started: on a busy machine the
// time by the clock says little. `npm test` lists both.
import { appendFileSync, readFileSync } from "node:fs";

/** Linux counts processor time in ticks of this many a second. */
const TICKS = 100;

/** Seconds of this process, and of its children that have ended. undefined where the system does not say. */
function readChildren(): number | undefined {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[13]) + Number(fields[14])) / TICKS;
  } catch {
    return undefined;
  }
}

/** Returns what writes the seconds since this call to the file that HOLDFAST_TEST_PROCESSOR_TIME names, if it names one. */
export function startProcessorTime(): (testFile: string | undefined) => void {
  const target = process.env.HOLDFAST_TEST_PROCESSOR_TIME;
  const own = process.cpuUsage();
  const children = readChildren();
  return (testFile) => {
    const now = readChildren();
    if (target === undefined || testFile === undefined || children === undefined || now === undefined) return;
    const { user, system } = process.cpuUsage(own);
    const seconds = (user + system) / 1e6 + now - children;
    appendFileSync(target, `${JSON.stringify({ file: testFile, seconds })}\n`);
  };
}
