// Runs by the beginning of an id. Only of ids that were made up here, which nobody counts on: "job-1" never means "job-10".
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId } from "../core/check.ts";

const BEGINNING = /^run_[0-9a-z]{4,31}$/;
/** As newId() makes them, and those of children, which follow from the step. */
const MADE_UP = /^run_(?:[0-9a-hj-km-np-tv-z]{20}|[0-9a-f]{32})$/;
const MOST = 100;

/** The id itself when it is one, or begins none: whoever looks for it says so. */
export async function namedRun(storage: Storage, given: string): Promise<string> {
  const text = checkId(given, "run");
  if (!BEGINNING.test(text) || MADE_UP.test(text)) return text;
  const [exact] = await storage.query("run.get", text);
  if (exact !== undefined) return text;
  // Behind every letter.
  const rows = await storage.query("runs.beginning", text, `${text}~`, MOST);
  const [id, ...others] = rows.map((row) => row.id).filter((one) => MADE_UP.test(one));
  if (id === undefined) return text;
  if (others.length === 0) return id;
  const all = [id, ...others];
  throw new HoldfastError("InvalidArgument", `${all.length} runs begin with ${JSON.stringify(text)}`, {
    hint: `Give more of it: ${all
      .slice(0, 5)
      .map((one) => one.slice(0, text.length + 6))
      .join(", ")}.`,
    details: { kind: "run", id: text, runs: all },
  });
}
