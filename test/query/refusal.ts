// What the tests of the query language ask of a parser: why it refuses, and what it read apart from places.
import { HoldfastError } from "../../src/contracts/errors.ts";

/** The typed error of something that must be refused. */
export function refusal(run: () => unknown): HoldfastError {
  try {
    run();
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

/** Without places in the text: what was read. */
export function withoutPlaces(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === "at" ? undefined : part)));
}
