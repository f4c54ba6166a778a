// Lets other work use the event loop between the steps of a long one.
import type { Environment } from "../../contracts/environment.ts";

export function yieldToEventLoop(environment: Environment): Promise<void> {
  return new Promise((resolve) => {
    environment.defer(resolve);
  });
}
