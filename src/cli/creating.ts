// A store that is made when it is not there, by commands that bring something in which would be lost otherwise.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Context } from "./command.ts";
import { safe } from "./terminal.ts";

/** null when there is none yet. */
export async function openIfThere(context: Context): Promise<Holdfast | null> {
  try {
    return await context.open();
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return null;
    throw error;
  }
}

/** That it was made is said: a slip in --store would go unnoticed. */
export async function createStore(context: Context): Promise<Holdfast> {
  const holdfast = await context.open({ create: true });
  await context.output.note(safe`created a store at ${context.storeName}`);
  return holdfast;
}
