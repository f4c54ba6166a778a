// Searches share the event loop with the process that calls them: what answers in a few milliseconds must not keep it for ten.
import type { Environment } from "../../contracts/environment.ts";
import { TimeSlice } from "../../core/time-slice.ts";

const SLICE_MS = 4;

export function searchSlice(environment: Environment): TimeSlice {
  return new TimeSlice(environment, SLICE_MS);
}
