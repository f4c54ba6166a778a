// Hints of the library name its calls; whoever types commands is told the command instead.
import { quoted } from "./terminal.ts";

const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/\bsessions\.list\(\)/, "`holdfast sessions` lists those there are"],
  [/\bsessions\.get\(\)/, "use the id; `holdfast sessions show ALIAS` tells it"],
  [/\bheads\.list\(\)/, "`holdfast heads SESSION` lists those there are"],
  [/\bagents\.update\(\)/, "leave the ID out, or take another; `holdfast agents show ID` shows the one that is there"],
  [/\bagents\.list\(\)/, "`holdfast agents` lists those there are"],
  [
    /\berased: "placeholder"/,
    "`holdfast worker --agents FILE --erased placeholder` goes on with a placeholder in its place; `holdfast runs cancel RUN` ends the run",
  ],
  [/\bruns\.list\(\)/, "`holdfast runs` lists those there are"],
  [
    /\bruns\.retry\(\).*\bruns\.fork\(\)/,
    "`holdfast runs retry RUN` takes it up where it ended; `holdfast runs fork RUN` goes on after one of its iterations",
  ],
  [
    /\bruns\.resume\(agent, .*\bruns\.cancel\(/,
    "let it end: run its program again, or `holdfast worker --agents FILE`; `holdfast runs show RUN` tells how it stands; " +
      "or end it: `holdfast runs cancel RUN`",
  ],
  [/\bruns\.execute\(\).*\bruns\.cancel\(/, "wait until it ends, or end it: `holdfast runs cancel RUN`"],
  [/^Give another id to another piece of work/, "take another id; `holdfast runs show RUN` shows the one there is"],
  [
    /\bruns\.unpause\(\).*\bruns\.cancel\(\)/,
    "if it does not go on where it came from, `holdfast runs unpause RUN` lets it go on here; `holdfast runs cancel RUN` ends it",
  ],
  [
    /\bruns\.cancel\(\)/,
    "let it end: `holdfast worker --agents FILE` goes on with it, `holdfast runs show RUN` tells how it stands; " +
      "or end it: `holdfast runs cancel RUN`",
  ],
  [
    /\bretry\(…, \{ limits: \{ (\w+): ([\d.e+]+) \} \}\)/,
    `give a wider one: \`holdfast runs retry RUN --limits '{"$1": $2}'\``,
  ],
  [/^Retry ".*": /, "`holdfast runs retry RUN` takes up that one: it knows what has been done since"],
  [/\bruns\.decisions\(\)/, "`holdfast runs pending --answered` tells who answered, and what"],
  [/\bruns\.get\(\)/, "leave the id out, or take another; `holdfast runs show RUN` shows the one there is"],
  [
    /^(".*") has completed it\b/,
    "$1 has completed it: there is nothing to retry; `holdfast runs fork RUN` goes on from one of its iterations",
  ],
  [
    /^(".*") was deleted\b/,
    "$1 was deleted; `holdfast runs fork RUN` goes on from one of its iterations, in a new session",
  ],
  [/\bruns\.fork\(\)/, "`holdfast runs fork RUN` goes on from one of its iterations, in a new session"],
  [/\bruns\.pending\(\)/, "`holdfast runs pending` lists what is to be decided"],
  [/\bruns\.steps\(\)/, "`holdfast runs show RUN` shows what became of it"],
  [/\ballowMismatch\b/, "run the worker with the agent that began it, or with --allow-mismatch"],
  [/\btasks\.forceRetry\(\)/, "`holdfast tasks retry SESSION TASK` starts it again"],
  [/\btasks\.create\(\)/, "`holdfast tasks add SESSION TITLE` makes a board"],
  [/\bbusyMs\b/, "wait for it, then try again"],
  [/\btimeoutMs\b/, "ask for less (constants, an input; a limit does not help), or give it longer: --timeout SECONDS"],
  [/\bmigrate: true\b/, "run `holdfast migrate`"],
  [/\bcreate: true\b/, "run `holdfast init`"],
  [/\bfileBlobs\(/, "pass --blob-dir DIR (or set HOLDFAST_BLOB_DIR): where this store keeps its blobs"],
  [/\bcaptures\.list\(\)/, "`holdfast captures` lists those there are; what has expired may have been swept"],
  [
    /\bcaptures\.expire\(/,
    "as long as it was not swept, `holdfast captures keep CAPTURE` keeps it; the conversation is in its session",
  ],
  [
    /\brestore with `overwrite`/,
    "go on with the one that is here, or restore with --overwrite: then what is here is kept beside it",
  ],
  [/\bInstall opencode\b/, "install opencode, or say where it is: HOLDFAST_OPENCODE=/path/to/opencode"],
  [/\bcaptures\.prefer\(/, "`holdfast captures --beside` lists both, `holdfast captures prefer CAPTURE` chooses"],
  [/\bdetails\.stderr\b/, "--json shows what it said; run the command by hand to see all of it"],
  [/\bttlMs\b/, "store it again with `holdfast blobs put FILE`, with --pin or a longer --ttl"],
  [/\b(resolve|resolveText|stream)\(\)/, "read it with `holdfast blobs get REF --out FILE`"],
];

/** The same advice as a command, about the run if it is known; undefined when it names a call that no command stands for. */
export function commandHint(hint: string, run?: string): string | undefined {
  for (const [call, command] of COMMANDS) {
    const match = call.exec(hint);
    if (match === null) continue;
    const told = command.replace(/\$(\d)/g, (_, group: string) => match[Number(group)] ?? "");
    return run === undefined ? told : told.replace(/\bRUN\b/g, () => quoted(run));
  }
  return /\w\(\)/.test(hint) ? undefined : hint;
}
