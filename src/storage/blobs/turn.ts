// Long work lets others have the event loop between its steps.
import type { Environment } from "../../contracts/environment.ts";

export function turn(environment: Environment): Promise<void> {
  return new Promise((resolve) => {
    environment.defer(resolve);
  });
}
