// --follow: a command prints events as they come, until Ctrl-C.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Log, LogEvent } from "../contracts/log.ts";
import { EXIT } from "./exit.ts";
import { type Io, interruption } from "./io.ts";

/**
 * Calls `onEvent` for each event until the user stops the command; returns the exit code. If the reader of the output closes it
 * (`| head`), the command notices that with the next event: Node cannot watch a pipe that it only writes to.
 */
export async function follow(
  holdfast: Holdfast,
  session: string,
  options: NonNullable<Parameters<Log["tail"]>[1]>,
  io: Io,
  onEvent: (event: LogEvent) => Promise<void>,
): Promise<number> {
  const { signal, release } = interruption(io);
  try {
    for await (const event of holdfast.log.tail(session, { ...options, signal })) await onEvent(event);
  } finally {
    release();
  }
  // While the store is open, only an erasure ends the tail.
  if (!signal.aborted)
    throw new HoldfastError("SessionDeleted", `session "${session}" was erased`, { details: { session } });
  return EXIT.ok;
}
