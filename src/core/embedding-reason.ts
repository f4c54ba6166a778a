// Why an embedder failed, in a form that may be kept and shown: a status, a code, the name of an error, or a sentence of the store's own
// about what the embedder returned. Never an error's message: servers repeat the text there (docs/decisions/0033).
import { HoldfastError } from "../contracts/errors.ts";

const NAME = /^[\w.-]{1,64}$/;

/** Errors of the shipped embedders without a better code. */
const NO_CODES = ["ModelError"];

export function embeddingReason(error: unknown): string {
  if (!(error instanceof HoldfastError)) return "Error";
  const { problem, status, code, name } = error.details;
  if (typeof problem === "string") return problem;
  const isCode = typeof code === "string" && NAME.test(code) && !NO_CODES.includes(code);
  if (typeof status === "number") return isCode ? `HTTP ${status} ${code}` : `HTTP ${status}`;
  if (isCode) return code;
  return typeof name === "string" && NAME.test(name) ? `it threw ${name}` : error.code;
}
