// Where Claude Code keeps a directory's sessions: its config directory, and in it a directory named for the working directory.
// The rule is Claude Code's own (it was read off its behaviour); a name that is off by one character is a session not found.
import { realpath } from "node:fs/promises";
import * as path from "node:path";
import { HoldfastError } from "../../contracts/errors.ts";
import { quoteArgument } from "../../core/shell.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** Longer names are cut, and told apart by a hash. */
const LONGEST = 200;
const FIXED = /^[A-Za-z0-9_-]{1,64}$/;
const KEY = /^[A-Za-z0-9_-]{1,255}$/;

/** Of a real path: no links in it, no slash at its end. Several paths may have the same key ("a.b" and "a-b"). */
export function projectKey(cwd: string, platform: string = process.platform): string {
  const real = platform === "darwin" ? cwd.normalize("NFC") : cwd;
  const name = real.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= LONGEST) return name;
  let hash = 0;
  for (let i = 0; i < real.length; i++) hash = ((hash << 5) - hash + real.charCodeAt(i)) | 0;
  return `${name.slice(0, LONGEST)}-${Math.abs(hash).toString(36)}`;
}

/** Of any path to a directory that is there; MissingDirectory when it is not. */
export async function projectKeyOf(cwd: string): Promise<string> {
  try {
    return projectKey(await realpath(cwd));
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "does not exist" : `cannot be opened (${(cause as NodeJS.ErrnoException).code})`;
    throw new HoldfastError("MissingDirectory", `the working directory ${JSON.stringify(cwd)} ${why}`, {
      details: { cwd },
      hint: isMissing
        ? `Make the directory in which the agent is to run first: mkdir -p ${quoteArgument(cwd)}`
        : "Let the user who runs this enter the directory in which the agent is to run.",
      cause,
    });
  }
}

export function configDirOf(env: Variables): string {
  if (env.CLAUDE_CONFIG_DIR) return path.resolve(env.CLAUDE_CONFIG_DIR);
  if (env.HOME) return path.resolve(env.HOME, ".claude");
  throw new HoldfastError("InvalidArgument", "neither CLAUDE_CONFIG_DIR nor HOME is set", {
    hint: "Set one of them to say where Claude Code keeps its sessions.",
  });
}

/** The key that CLAUDE_CODE_PROJECT_DIR_NAME sets for every directory. Claude Code heeds it beside CLAUDE_CONFIG_DIR only. */
export function fixedKeyOf(env: Variables): string | null {
  const name = env.CLAUDE_CODE_PROJECT_DIR_NAME;
  return env.CLAUDE_CONFIG_DIR && name !== undefined && FIXED.test(name) ? name : null;
}

/** A key that comes from elsewhere becomes the name of a directory. */
export function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new HoldfastError("InvalidArgument", `${JSON.stringify(key.slice(0, 300))} is no name of a project directory`, {
    hint: "Leave it out: it follows from the working directory.",
  });
}
