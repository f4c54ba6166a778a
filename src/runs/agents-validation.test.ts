// What validators get, and the errors for values that they refuse.
import { expect, test } from "vitest";
import type { AgentDefinition } from "../contracts/agent-definitions.ts";
import type { StandardSchema, ValidationResult } from "../contracts/standard-schema.ts";
import { asksForApproval, defineAgent, validateValue, validateVerdict } from "./agents.ts";

function schema(validate: (value: unknown) => ValidationResult<unknown>): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate } } as StandardSchema;
}

test("RU15 a validator of something optional accepts what was left out, which is null in JSON", async () => {
  const optional = schema((value) =>
    value === undefined || typeof value === "string"
      ? { value: value ?? "none" }
      : { issues: [{ message: "no text" }] },
  );
  expect(await validateValue(optional, null, "InvalidInput", "input")).toBe("none");
  await expect(validateValue(optional, 7, "InvalidInput", "input")).rejects.toMatchObject({ code: "InvalidInput" });
});

test("RU15 done() without a value gives its validator null", async () => {
  const onlyNull = schema((value) => (value === null ? { value: "nothing" } : { issues: [{ message: "not null" }] }));
  const agent = { output: onlyNull } as unknown as AgentDefinition;
  expect(await validateVerdict(agent, { verdict: "done", value: undefined })).toEqual({
    verdict: "done",
    value: "nothing",
  });
  const never = schema((value) => (value === undefined ? { value } : { issues: [{ message: "defined" }] }));
  const seen: unknown[] = [];
  const watching = schema((value) => {
    seen.push(value);
    return { value };
  });
  await validateVerdict({ output: watching } as unknown as AgentDefinition, { verdict: "done", value: undefined });
  expect(seen).toEqual([null]);
  expect(await validateValue(never, null, "InvalidOutput", "value")).toBeUndefined();
});

test("RU15 an error names the first ten issues, and the number of the others", async () => {
  const issues = Array.from({ length: 12 }, (_, i) => ({ message: `wrong ${i}`, path: ["list", { key: i }] }));
  const refused = await validateValue(
    schema(() => ({ issues })),
    1,
    "InvalidInput",
    "input",
  ).catch((error: Error) => error);
  expect((refused as Error).message).toContain("list.9: wrong 9; and 2 more");
  expect((refused as Error).message).not.toContain("wrong 10");
});

test("RU16 a tool with an approval rule that decides by the input counts as a tool that asks for approval", () => {
  expect(
    [true, () => true, false, undefined].map((approve) => asksForApproval(approve === undefined ? {} : { approve })),
  ).toEqual([true, true, false, false]);
});

test("RU15 a tool may have a name, which must be its key", () => {
  const find = { name: "find", execute: () => null };
  const make = (tools: Record<string, typeof find>) =>
    defineAgent({ id: "a", version: "1", tools, iterate: (it) => it.done() });
  expect(() => make({ find })).not.toThrow();
  expect(() => make({ search: find })).toThrow(/agent\.tools\.search\.name/);
});
