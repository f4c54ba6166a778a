// A reason is kept and shown: it has nothing of the text, the key or the server's message.
import { expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { embeddingReason } from "./embedding-reason.ts";

test.each([
  [{ status: 401, code: "invalid_api_key" }, "HTTP 401 invalid_api_key"],
  [{ status: 400, code: "sk-secret", name: "ModelError" }, "HTTP 400"],
  [{ status: 4_111_111_111_111_111, code: "ECONNREFUSED" }, "ECONNREFUSED"],
  [{ code: "UND_ERR_CONNECT_TIMEOUT", name: "Error" }, "UND_ERR_CONNECT_TIMEOUT"],
  [{ code: "Timeout" }, "Timeout"],
  [{ code: "ECONNREFUSED-alice" }, "it threw an error"],
  [{ code: "alice", name: "TypeError" }, "it threw TypeError"],
  [{ code: "ModelError", name: "ModelError" }, "it threw ModelError"],
  [{ name: "alice-has-cancer" }, "it threw an error"],
  [{ name: "Error TypeError" }, "it threw an error"],
  [{ name: "", code: "" }, "it threw an error"],
  [{}, "it threw an error"],
  [{ problem: "it returned 1 vectors for 2 texts" }, "it returned 1 vectors for 2 texts"],
])("EM5 a reason for %j keeps only known codes and names", (details, reason) => {
  expect(embeddingReason(new HoldfastError("EmbeddingFailed", "alice", { details }))).toBe(reason);
});
