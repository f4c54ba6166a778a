// Notices that another connection, also of another process, has written to the database.
import type { Environment } from "../../../contracts/environment.ts";
import type { Connection } from "./connection.ts";
import { isBusy } from "./errors.ts";

const POLL_MS = 20;

/**
 * data_version changes whenever another connection has committed. The writer is asked: to the reader, every commit of this
 * handle would be one of another connection. Returns how to stop.
 */
export function watchDataVersion(
  writer: Connection,
  environment: Environment,
  onChange: (sessions: null) => void,
): () => void {
  const stop = new AbortController();
  const version = () => {
    try {
      return writer.all("PRAGMA data_version", [])[0]?.data_version;
    } catch (error) {
      // Another process is just opening or closing the file: whether it has written is not known.
      if (isBusy(error)) return null;
      throw error;
    }
  };
  const poll = async () => {
    let seen = version();
    while (!stop.signal.aborted) {
      await environment.sleep(POLL_MS, stop.signal);
      if (stop.signal.aborted) return;
      const now = version();
      if (now !== seen || now === null) onChange(null);
      seen = now;
    }
  };
  poll().catch((error) => environment.log("warn", "sqlite.watch", { error: String(error) }));
  return () => stop.abort();
}
