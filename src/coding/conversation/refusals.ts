// What keeps a session from being continued with a conversation.
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";

/** The rules of the session refused a step. Whatever else goes wrong would go wrong again. */
export function isRefusal(error: unknown): boolean {
  return isHoldfastError(error) && ["InvalidTransition", "Conflict", "NotFound"].includes(error.code);
}

export function noWayBack(session: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the agent went back to before the first head of ${JSON.stringify(session)}, and there is nothing to go on from`,
    { details: { session }, hint: "Import the conversation into a new session." },
  );
}
