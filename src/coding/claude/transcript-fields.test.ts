// Fields of a line are those that parsing it would give.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fieldsOf, parseLine } from "./transcript.ts";

const NAMES = ["type", "uuid", "sessionId", "isSidechain"];
const some = (text: string) => pick(fieldsOf(Buffer.from(text), NAMES));

function pick(fields: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> | undefined {
  if (fields === undefined) return undefined;
  return Object.fromEntries(NAMES.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]]] : [])));
}

describe("CA3 fields of a transcript's line", () => {
  test.each([
    '{"type":"user","uuid":"u1","message":{"content":[{"uuid":"inner","type":"x"}],"sessionId":"s"},"isSidechain":false}',
    '{"a":"\\"uuid\\":\\"no\\"","uuid":"yes"}',
    '{"a":"\\\\","uuid":"yes"}',
    '{"a":"}],{\\"","b":[[{"c":"]"}]],"uuid":"yes"}',
    '{"uuid":"one","uuid":"two"}',
    '{"uu\\u0069d":"escaped","type":"u\\u0073er"}',
    '{"uuid":null,"type":7,"isSidechain":"true","sessionId":["s"]}',
    '{ "uuid" : "spaced" , "type": "user" }',
    '\uFEFF{"uuid":"behind a mark"}',
    '{"uuid":"ä","type":"\u{1F600}"}',
    '{"uuid":"u"}\r',
    '{"uuid":"u"',
    '{"uuid":"u"}}',
    '{"uuid":"u",}',
    '{"uuid":"u"} x',
    '{"uuid"',
    '{"a":"\\',
    "{}",
    "[]",
    "",
    "null",
  ])("%j gives what parsing gives", (text) => {
    expect(some(text)).toEqual(pick(parseLine(Buffer.from(text))));
  });

  test("any object gives what parsing gives", () => {
    const key = fc.oneof(fc.constantFrom(...NAMES), fc.string());
    const value = fc.oneof(fc.jsonValue(), fc.string(), fc.boolean());
    fc.assert(
      fc.property(fc.dictionary(key, value), (object) => {
        const text = JSON.stringify(object);
        expect(some(text)).toEqual(pick(parseLine(Buffer.from(text))));
      }),
    );
  });
});
