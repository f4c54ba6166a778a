// What every part of the demo stands on.
import type { StoreChoice } from "../store.ts";
import type { Keyboard } from "./keyboard.ts";
import type { Story } from "./story.ts";

export interface Stage {
  readonly story: Story;
  readonly choice: StoreChoice;
  readonly directory: string;
  /** The bank's book: a file outside the store. */
  readonly book: string;
  readonly isTemporary: boolean;
  /** Ids of a store that is not ours must not collide with what is there. */
  readonly suffix: string;
  readonly keyboard: Keyboard;
  readonly signal: AbortSignal;
}
