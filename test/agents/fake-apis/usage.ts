// What both APIs say about sizes, and the pieces in which they stream.
import { createHash } from "node:crypto";
import type { Conversation } from "./script.ts";

export function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 20);
}

/** A rough count, enough for the fields of an answer. */
export function tokensOf(text: string): number {
  return Math.max(1, Math.ceil(text.length / 4));
}

export function promptTokens({ system, turns }: Conversation): number {
  return turns.reduce((sum, turn) => sum + tokensOf(turn.full), tokensOf(system));
}

export function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,4000}/g) ?? [];
}
