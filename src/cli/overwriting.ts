// A file that is there already is not written over by chance: what is in it may be the only copy of something.
import { HoldfastError } from "../contracts/errors.ts";
import { isFile } from "./bytes.ts";
import type { Context } from "./command.ts";

export const FORCE_OPTION = { type: "flag", summary: "write over a file that is there" } as const;

/** Of --out, before anything is read. */
export async function refuseOverwriting({ args, io }: Context): Promise<void> {
  const out = args.text("out");
  if (out === undefined || out === "-" || args.flag("force") || !(await isFile(out, io))) return;
  throw new HoldfastError("AlreadyExists", `there is a file ${out} already`, {
    hint: "choose another name, or write over it with --force",
    details: { kind: "file", id: out },
  });
}
