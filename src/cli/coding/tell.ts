// What `holdfast run` did, in one line on stderr: standard output is the agent's. It always says whether anything was kept.
import type { Capture } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Context } from "../command.ts";
import { safeJson } from "../terminal.ts";
import { formatBytes, plural } from "../units.ts";
import type { Follower } from "./follow.ts";
import type { Bundled } from "./out.ts";
import type { Start } from "./start.ts";

export interface Told {
  readonly start: Start;
  readonly follower: Follower;
  readonly bundle: Bundled | null;
  readonly isStored: boolean;
  /** The store was made now. */
  readonly isNew: boolean;
  /** The agent's command line chose the session itself. */
  readonly chose: boolean;
}

export async function tell(context: Context, told: Told): Promise<void> {
  const { output, io } = context;
  const { start, follower, bundle } = told;
  if (output.json) {
    const { sessionId, saved, secrets, problem } = follower;
    const why = start.how === "resumed" ? null : start.why;
    const restored = start.how === "resumed" ? start.restored : null;
    const error = problem === null ? null : wordsOf(problem);
    await output.error(
      safeJson({ start: start.how, why, restored, sessionId, saved, bundle, secrets: secrets.length, error }),
    );
    return;
  }
  const line = [began(told), ...kept(context, told), ...secretsIn(context, told), ...failed(told)].join("; ");
  // The agent's last line may have no end.
  await output.note(`${io.stderr.isTTY === true ? "\n" : ""}holdfast: ${output.withCommands(line)}`);
}

function began({ start, follower, chose }: Told): string {
  const session = follower.sessionId === null ? "no session" : `session ${follower.sessionId}`;
  if (start.how === "resumed" && (chose || follower.sessionId === start.restored.sessionId)) {
    return `resumed ${start.restored.sessionId} (${plural(start.restored.messages, "message")})`;
  }
  if (start.how === "resumed") return `resumed ${start.restored.sessionId}, went on as ${session}`;
  if (start.how === "told") return `could not resume (${start.why}), told the stored conversation instead; ${session}`;
  if (start.why === null) return session;
  return chose
    ? `${session}, which was not put back (${start.why})`
    : `could not resume (${start.why}), began anew; ${session}`;
}

function kept(context: Context, { follower, bundle, isStored, isNew }: Told): readonly string[] {
  const { saved } = follower;
  const last = saved.at(-1);
  const written = bundle === null ? [] : [`wrote ${bundle.file} (${formatBytes(bundle.bytes)})`];
  const before = bundle?.kept ? [`what was there is ${bundle.kept}`] : [];
  if (last === undefined && written.length === 0) return [nothing(context, follower, isStored)];
  const others = saved.length > 1 ? [`and ${plural(saved.length - 1, "session")} it worked in before`] : [];
  const made = isNew && last !== undefined ? [`in the new store ${context.storeName}`] : [];
  return [...(last === undefined ? [] : [[savedAs(last), ...made, ...others].join(", ")]), ...written, ...before];
}

function savedAs({ fileCount, size, generation, id, diverged }: Capture): string {
  const as = `saved ${plural(fileCount, "file")}, ${formatBytes(size)}, as generation ${generation} of ${id}`;
  if (!diverged) return as;
  return `${as} beside the newest, which has what this has not; \`holdfast captures prefer ${id}\` chooses this one`;
}

function nothing({ args }: Context, { problem, sessionId }: Follower, isStored: boolean): string {
  if (problem !== null) return "nothing was saved";
  if (!isStored && args.text("out") === undefined) return "nothing was saved: give --store URL or --out FILE";
  return sessionId === null
    ? "nothing was saved: the agent left no session here"
    : "nothing was saved: it left no files";
}

function secretsIn({ args }: Context, { follower: { secrets } }: Told): readonly string[] {
  if (secrets.length === 0) return [];
  return [`${plural(secrets.length, "likely secret")} ${args.flag("mask-secrets") ? "replaced" : "in it"}`];
}

function failed({ follower: { problem } }: Told): readonly string[] {
  return problem === null ? [] : [`not saved as it should be: ${wordsOf(problem)}`];
}

function wordsOf(problem: unknown): string {
  return problem instanceof HoldfastError ? problem.message : String(problem);
}
