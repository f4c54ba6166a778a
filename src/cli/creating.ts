// A store that is made when it is not there, by commands that bring something in which would be lost otherwise.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { Context } from "./command.ts";
import { safe } from "./terminal.ts";

/** null when there is none yet. */
export async function openIfThere(context: Context, options: OpenOptions = {}): Promise<Holdfast | null> {
  try {
    return await context.open(options);
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return null;
    throw error;
  }
}

/** That it was made is said, after `before`: a slip in --store would go unnoticed. */
export async function createStore(context: Context, options: OpenOptions = {}, before = ""): Promise<Holdfast> {
  const holdfast = await context.open({ ...options, create: true });
  await context.output.note(safe`${before}created a store at ${context.storeName}`);
  return holdfast;
}
