// The checks of arguments.
import { describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import { checkArray, checkId, checkPlain, checkRecord, checkSome, checkText, copyJson, encodeJson } from "./check.ts";
import { checkCursor, writeCursor } from "./cursor.ts";

function codeOf(run: () => unknown): string {
  try {
    run();
    return "no error";
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error);
  }
}

describe("checks", () => {
  test.each(["'; DROP TABLE sessions;--", "../../etc/passwd", "\u202ertl", "😀", " ", "a".repeat(LIMITS.idBytes)])(
    "ST5 %j is a fine id",
    (id) => expect(checkId(id, "id")).toBe(id),
  );

  test.each([
    ["an empty id", ""],
    ["NUL", "a\0b"],
    ["a lone surrogate", "\ud83d"],
    ["one byte too many", "a".repeat(LIMITS.idBytes + 1)],
    ["too many bytes in fewer characters", "é".repeat(LIMITS.idBytes / 2 + 1)],
  ])("ST5 %s is InvalidId", (_, id) => expect(codeOf(() => checkId(id, "id"))).toBe("InvalidId"));

  test("ST5 text keeps NUL and refuses lone surrogates", () => {
    expect(checkText("a\0b", "title", "titleBytes")).toBe("a\0b");
    expect(codeOf(() => checkText("\udfff", "title", "titleBytes"))).toBe("InvalidText");
    expect(codeOf(() => checkText("x".repeat(LIMITS.titleBytes + 1), "title", "titleBytes"))).toBe("LimitExceeded");
  });

  test("ST7 JSON that would be read back as something else is InvalidJson, also when it is a bomb", () => {
    let bomb: unknown = 1;
    for (let i = 0; i < 100_000; i++) bomb = [bomb];
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const value of [bomb, cycle, 1n, Number.NaN, () => 1, new Date(0), new Map(), [undefined], Symbol("x")]) {
      expect(codeOf(() => encodeJson(value, "value", "metadataBytes"))).toBe("InvalidJson");
    }
  });

  test("ST8 an object that is referenced many times counts as often as it is written", () => {
    const value = {};
    let at: Record<string, unknown> = value;
    for (let i = 0; i < 40; i++) {
      const next = {};
      at.a = next;
      at.b = next;
      at = next;
    }
    let list: unknown = [];
    for (let i = 0; i < 40; i++) list = [list, list];
    for (const bomb of [value, list]) {
      expect(codeOf(() => encodeJson(bomb, "value", "metadataBytes"))).toBe("LimitExceeded");
    }
    const empty = Array.from({ length: (LIMITS.metadataBytes - 1) / 3 }, () => []);
    expect(encodeJson(empty, "value", "metadataBytes").length).toBeLessThanOrEqual(LIMITS.metadataBytes);
  });

  test.each([
    [undefined, "value is not JSON: it is undefined"],
    [{ list: [1, undefined] }, "value.list[1] is not JSON: it is undefined"],
    [{ a: { b: [{ when: new Date(0) }] } }, "value.a.b[0].when is not JSON: it is a Date object; give plain objects"],
    [{ "a key": [Number.NaN] }, 'value["a key"][0] is not JSON: NaN is not a JSON number'],
    [[() => 1], "value[0] is not JSON: it is a function"],
    [{ "": 1n }, 'value[""] is not JSON: it is a bigint'],
    [{ größe: Symbol("x") }, "value.größe is not JSON: it is a symbol"],
  ])("ST7 the error names the path of a value that is not JSON: %#", (value, message) => {
    expect(() => encodeJson(value, "value", "metadataBytes")).toThrow(
      expect.objectContaining({ code: "InvalidJson", message }),
    );
  });

  test("ST7 the error for JSON that is too deep does not contain the long path", () => {
    const cycle: Record<string, unknown> = {};
    cycle.round = { again: cycle };
    const message = "value is not JSON: it is nested deeper than jsonDepth (512) levels, or is a cycle";
    expect(() => encodeJson(cycle, "value", "metadataBytes")).toThrow(message);
  });

  test("ST8 JSON with more text than a string can hold is LimitExceeded, and never written out", () => {
    const many = new Array(20).fill("x".repeat(60_000_000));
    for (const value of [many, { many }, [{ many }], Object.fromEntries(many.entries())]) {
      expect(codeOf(() => encodeJson(value, "value", "payloadBytes"))).toBe("LimitExceeded");
    }
  });

  test("ST5 JSON is kept exactly as it serialises: key order, lone surrogates, __proto__", () => {
    const value = JSON.parse('{"b":1,"a":"\\ud800","__proto__":{"x":1},"10":0,"2":0}');
    const bytes = encodeJson(value, "value", "metadataBytes");
    expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(value));
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual(value);
  });

  test("ST5 JSON has one zero", () => {
    expect(Object.is((copyJson({ z: -0 }, "value") as { z: number }).z, 0)).toBe(true);
  });

  test("ST7 a property is read once: the value that was checked is the value that is kept", () => {
    let reads = 0;
    const flips = {
      get x() {
        return reads++ === 0 ? "good" : Number.NaN;
      },
    };
    expect(Buffer.from(encodeJson({ flips }, "value", "metadataBytes")).toString()).toBe('{"flips":{"x":"good"}}');
    expect(reads).toBe(1);
    const options = checkRecord(
      {
        get limit() {
          return reads++;
        },
      },
      "options",
      ["limit"],
    );
    expect(options.limit).toBe(options.limit);
  });

  test("ST7 an argument that cannot be read is InvalidArgument, and the error names it", () => {
    const throws = {
      get x() {
        throw new Error("boo");
      },
    };
    const trap = () => {
      throw new Error("boo");
    };
    const closed = new Proxy({}, { get: trap, ownKeys: trap, getPrototypeOf: trap });
    const list = Object.defineProperty([1], 0, { get: trap });
    for (const value of [throws, closed, list]) {
      expect(codeOf(() => encodeJson([value], "value", "metadataBytes"))).toBe("InvalidArgument");
    }
    expect(() => encodeJson({ a: [throws] }, "value", "metadataBytes")).toThrow("value.a[0].x cannot be read");
    for (const value of [throws, closed]) {
      expect(codeOf(() => checkRecord(value, "options"))).toBe("InvalidArgument");
      expect(codeOf(() => checkRecord(value, "options", ["x"]))).toBe("InvalidArgument");
      expect(codeOf(() => checkSome(value, "scope", ["x"]))).toBe("InvalidArgument");
      expect(codeOf(() => checkPlain(value, "state"))).toBe("InvalidArgument");
    }
    expect(codeOf(() => checkArray(list, "list", "page"))).toBe("InvalidArgument");
  });

  test("ST7 a revoked proxy is InvalidArgument anywhere in the arguments", () => {
    const gone = (target: object) => {
      const { proxy, revoke } = Proxy.revocable(target, {});
      revoke();
      return proxy;
    };
    for (const bad of [gone({}), gone([])]) {
      expect(codeOf(() => checkRecord(bad, "it", ["a"]))).toBe("InvalidArgument");
      expect(codeOf(() => checkRecord(bad, "it"))).toBe("InvalidArgument");
      expect(codeOf(() => checkSome(bad, "it", ["a"]))).toBe("InvalidArgument");
      expect(codeOf(() => checkArray(bad, "it", "page"))).toBe("InvalidArgument");
      expect(codeOf(() => checkText(bad, "it", "titleBytes"))).toBe("InvalidArgument");
      expect(codeOf(() => copyJson({ a: bad }, "it"))).toBe("InvalidArgument");
    }
    expect(codeOf(() => checkId(gone({}), "it"))).toBe("InvalidArgument");
  });

  test("ST7 a cursor that no list returned is InvalidArgument", () => {
    const good = writeCursor({ list: "sessions.list", order: "newest" }, [123]);
    expect(checkCursor(good, "cursor")).toBe(good);
    for (const bad of ["", "x", "bjE", 5, {}, "n".repeat(100)]) {
      expect(codeOf(() => checkCursor(bad, "cursor"))).toBe("InvalidArgument");
    }
  });

  test("ST7 a misspelt field is refused, and the error names the field that was probably meant", () => {
    const attempt = () => checkRecord({ limt: 5 }, "options", ["limit", "cursor"]);
    expect(attempt).toThrow(/options must be made of limit, cursor, not "limt"/);
    expect(attempt).toThrow(expect.objectContaining({ hint: 'Did you mean "limit"?' }));
    const odd = () => checkRecord({ nothingLikeIt: 5 }, "options", ["limit", "cursor"]);
    expect(odd).toThrow(expect.objectContaining({ hint: undefined }));
  });
});
