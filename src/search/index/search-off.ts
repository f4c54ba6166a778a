// The error of verbs that need the text index, if the store was opened without it.
import { HoldfastError } from "../../contracts/errors.ts";

export function searchIsOff(): HoldfastError {
  return new HoldfastError("Conflict", "the store was opened with search: false", {
    hint: "Open it without that option. The index is then written in the background, and the first search finds everything.",
  });
}
