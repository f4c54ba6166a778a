// What an SDK throws and what a model writes, read.
import { expect, test } from "vitest";
import { failureOf } from "./failure.ts";
import { invalidTextOf, readToolInput } from "./tool-input.ts";

test.each([
  [{ "retry-after-ms": "1500.2", "retry-after": "9" }, 1501],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after": "Wed, 18 Nov 2026 00:00:10 GMT", date: "Wed, 18 Nov 2026 00:00:00 GMT" }, 10_000],
  [{ "retry-after": "Wed, 18 Nov 2026 00:00:10 GMT" }, undefined],
  [{ "retry-after": "soon" }, undefined],
  [{ "retry-after-ms": "1e400", "retry-after": "9" }, 9000],
  [{ "retry-after-ms": "1e300" }, 86_400_000],
  [{ "retry-after": "9".repeat(400) }, undefined],
  [{ "retry-after": "9".repeat(20) }, 86_400_000],
  [{}, undefined],
])("RU19 reads when to try again from %j", (headers, ms) => {
  const error = Object.assign(new Error("no"), { status: 429 });
  expect(failureOf("p", { ...error, headers: new Headers(headers) }).retryAfterMs).toBe(ms);
  expect(failureOf("p", { ...error, responseHeaders: headers }).retryAfterMs).toBe(ms);
});

test.each([
  [{ status: 429, code: "insufficient_quota" }, false, "insufficient_quota"],
  [{ status: 429, error: { error: { type: "rate_limit_error" } } }, true, "rate_limit_error"],
  [{ status: 408 }, true, "Error"],
  [{ status: 422 }, false, "Error"],
  [{ statusCode: 529, data: { error: { type: "overloaded_error" } } }, true, "overloaded_error"],
  [{ statusCode: 200 }, true, "Error"],
  [{ cause: { code: "ECONNRESET" } }, true, "ECONNRESET"],
  [{ status: 400, headers: new Headers({ "x-should-retry": "true" }) }, true, "Error"],
  [{ name: "AI_LoadAPIKeyError" }, false, "AI_LoadAPIKeyError"],
])("RU19 knows of %j whether another try makes sense", (fields, retryable, code) => {
  const found = failureOf("p", Object.assign(new Error("why"), fields));
  expect(found).toMatchObject({ retryable, code, message: "p: why" });
});

test("RU19 anything can be thrown", () => {
  for (const thrown of [undefined, null, "text", 7, {}]) expect(failureOf("p", thrown).retryable).toBe(true);
});

test.each([
  ["", {}],
  ["{}", {}],
  ['{"a":[1,null]}', { a: [1, null] }],
  ["[1]", { $invalid: "[1]" }],
  ["null", { $invalid: "null" }],
  ['{"a":', { $invalid: '{"a":' }],
  ['{"a":1e999}', { $invalid: '{"a":1e999}' }],
  ['{"a":{"b":"\\udfff"}}', { $invalid: '{"a":{"b":"\\udfff"}}' }],
  ['{"a":"\\\\udfff"}', { a: "\\udfff" }],
  ["\ud800", { $invalid: "\ufffd" }],
])("RU19 reads the arguments %s", (text, input) => {
  expect(readToolInput(text)).toEqual(input);
  const isMarked = "$invalid" in input;
  expect(invalidTextOf(readToolInput(text)) !== undefined).toBe(isMarked);
});
