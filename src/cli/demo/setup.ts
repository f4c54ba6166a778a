// What every part of the demo uses: the store, the bank's book, the printer and the keyboard.
import type { StoreChoice } from "../store.ts";
import type { Keyboard } from "./keyboard.ts";
import type { Narrator } from "./narrator.ts";

export interface DemoSetup {
  readonly narrator: Narrator;
  readonly choice: StoreChoice;
  readonly directory: string;
  /** The bank's book: a file outside the store. */
  readonly book: string;
  readonly isTemporary: boolean;
  /** The end of all ids that the demo uses in the user's own store, so that they do not collide with the user's ids. */
  readonly suffix: string;
  readonly keyboard: Keyboard;
  readonly signal: AbortSignal;
}
