// Hints of the library name API calls. The CLI prints the command that does the same instead.
import { quoted } from "./terminal.ts";

const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/\bsessions\.list\(\)/, "`holdfast sessions` lists all sessions"],
  [
    /`next` of a page of this list/,
    "leave --cursor out to begin with the first page; a page that is not the last prints the next",
  ],
  [/only the limit may differ/, "repeat the options of the command that printed it; only --limit may differ"],
  [/\bvectors\.listCollections\(\)/, "`holdfast vectors` lists all collections"],
  [/\bvectors\.upsert\(\)/, "`holdfast vectors add --replace` replaces documents"],
  [
    /^Pass `model: (".*")` if/,
    "pass --model $1 if these embeddings are of that model, or use a collection of their own",
  ],
  [
    /leave `model` out/,
    "its embeddings have no model name: leave --model out if these are of the same one, or use a collection of their own",
  ],
  [
    /^Try again later\. Texts that wait to be embedded/,
    "does the server run? without an embedder, searches are by words",
  ],
  [
    /^Another try would fail in the same way: mend the text, the model's name/,
    "check the model's name and the URL of --embedder, and the key in HOLDFAST_EMBEDDER_KEY",
  ],
  [/\bsessions\.get\(\)/, "use the id; `holdfast sessions show ALIAS` prints it"],
  [/\bheads\.list\(\)/, "`holdfast heads SESSION` lists its heads"],
  [
    /\bagents\.update\(\)/,
    "leave the ID out, or choose another; `holdfast agents show ID` shows the agent with this ID",
  ],
  [/\bagents\.list\(\)/, "`holdfast agents` lists all agents"],
  [
    /\berased: "placeholder"/,
    "`holdfast worker --agents FILE --erased placeholder` continues with a placeholder for the erased content; " +
      "`holdfast runs cancel RUN` ends the run",
  ],
  [/\bruns\.list\(\)/, "`holdfast runs` lists all runs"],
  [
    /\bruns\.retry\(\).*\bruns\.fork\(\)/,
    "`holdfast runs retry RUN` continues it where it ended; `holdfast runs fork RUN` continues after one of its iterations",
  ],
  [
    /^If it is not, continue it here with runs\.resume\(/,
    "if the original store no longer executes it, `holdfast runs unpause RUN` lets it continue here; `holdfast runs cancel RUN` ends it",
  ],
  [
    /\bruns\.resume\(agent, .*\bruns\.cancel\(/,
    "let it finish: run its program again, or `holdfast worker --agents FILE`; `holdfast runs show RUN` shows its status; " +
      "or end it: `holdfast runs cancel RUN`",
  ],
  [/\bruns\.execute\(\).*\bruns\.cancel\(/, "wait until it ends, or end it: `holdfast runs cancel RUN`"],
  [/^Use another id for other work/, "choose another id; `holdfast runs show RUN` shows the run with this id"],
  [
    /\bretry\(…, \{ limits: \{ (\w+): ([\d.e+]+) \} \}\)/,
    `give a higher limit: \`holdfast runs retry RUN --limits '{"$1": $2}'\``,
  ],
  [/^Retry ".*": /, "`holdfast runs retry RUN` retries that run, which knows the steps that were done since"],
  [/\bruns\.decisions\(\)/, "`holdfast runs pending --answered` lists the answers and the people who gave them"],
  [/\bruns\.get\(\)/, "leave the id out, or choose another; `holdfast runs show RUN` shows the run with this id"],
  [
    /^(".*") has completed it\b/,
    "$1 has completed it: there is nothing to retry; `holdfast runs fork RUN` continues from one of its iterations",
  ],
  [
    /^(".*") was deleted\b/,
    "$1 was deleted; `holdfast runs fork RUN` continues from one of its iterations, in a new session",
  ],
  [/\bruns\.fork\(\)/, "`holdfast runs fork RUN` continues from one of its iterations, in a new session"],
  [/\bruns\.pending\(\)/, "`holdfast runs pending` lists the open questions"],
  [/\ballowMismatch\b/, "run the worker with the agent version that began the run, or with --allow-mismatch"],
  [/\btasks\.forceRetry\(\)/, "`holdfast tasks force-retry SESSION TASK` restarts it"],
  [/\btasks\.create\(\)/, "`holdfast tasks add SESSION TITLE` creates a board"],
  [/\bbusyMs\b/, "wait until the store is free, then try again"],
  [
    /\btimeoutMs\b/,
    "narrow the query with constants or an input (a limit does not help), or give it more time: --timeout SECONDS",
  ],
  [/\bmigrate: true\b/, "run `holdfast migrate`"],
  [/\bcreate: true\b/, "run `holdfast init`"],
  [/\bfileBlobs\(/, "pass --blob-dir DIR (or set HOLDFAST_BLOB_DIR), the directory of this store's blobs"],
  [/\bcaptures\.list\(\)/, "`holdfast captures` lists all captures; a sweep deletes expired ones"],
  [
    /\bcaptures\.expire\(/,
    "until a sweep deletes it, `holdfast captures keep CAPTURE` keeps it; the conversation is in its session",
  ],
  [
    /\brestore with `overwrite`/,
    "continue the local session, or restore with --overwrite, which replaces it and keeps a copy",
  ],
  [/\bInstall opencode\b/, "install opencode, or set HOLDFAST_OPENCODE=/path/to/opencode"],
  [/\bcaptures\.prefer\(/, "`holdfast captures --beside` lists both, `holdfast captures prefer CAPTURE` chooses one"],
  [/\bdetails\.stderr\b/, "--json prints the program's stderr; run the command by hand to see all of it"],
  [/\bttlMs\b/, "store it again with `holdfast blobs put FILE`, with --pin or a longer --ttl"],
  [/\b(resolve|resolveText|stream)\(\)/, "read it with `holdfast blobs get REF --out FILE`"],
];

/**
 * Replaces the call in a hint by a command, with the run's id if it is known; undefined if no command does the same.
 */
export function commandHint(hint: string, run?: string): string | undefined {
  for (const [call, command] of COMMANDS) {
    const match = call.exec(hint);
    if (match === null) continue;
    const text = command.replace(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? "");
    return run === undefined ? text : text.replace(/\bRUN\b/g, () => quoted(run));
  }
  return /\w\(\)/.test(hint) ? undefined : hint;
}
