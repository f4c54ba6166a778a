// A transcript of lines that are no JSON costs no error for each of them.
import { afterEach, describe, expect, test, vi } from "vitest";
import { readClaude } from "../conversation/claude.ts";
import { TranscriptReader } from "./transcript.ts";

describe("CA6 a transcript of lines that are no JSON", () => {
  afterEach(() => void vi.restoreAllMocks());

  const counted = (line: string, times: number, act: (bytes: Buffer) => void): number => {
    const bytes = Buffer.from(`${line}\n`.repeat(times));
    const parse = vi.spyOn(JSON, "parse");
    act(bytes);
    return parse.mock.calls.length;
  };
  const readings: readonly (readonly [string, (bytes: Buffer) => void])[] = [
    ["imported", (bytes) => void readClaude(bytes)],
    [
      "restored",
      (bytes) => {
        const reader = new TranscriptReader();
        reader.push(bytes);
        reader.end();
      },
    ],
  ];

  test.each(readings)("is %s without an error for each short line", (_, act) => {
    for (const line of ["{x", "{", '{"', '{"a":}', '{"uuid":"u"}}', "{x}", '{"a":"\\x"}', `{"a":[${"[".repeat(50)}}`]) {
      expect(counted(line, 20_000, act), line).toBe(0);
      vi.restoreAllMocks();
    }
    // Of long ones there are few in as many bytes.
    expect(counted(`{"uuid":"${"x".repeat(600)}`, 100, act)).toBeLessThanOrEqual(100);
  });

  test("counts them, and has the messages between them", () => {
    const line = { type: "user", uuid: "u-1", message: { role: "user", content: "SAID" } };
    const { conversation, damage } = readClaude(`${"{x\n".repeat(1000)}${JSON.stringify(line)}\n${"{\n".repeat(1000)}`);
    expect(damage.broken).toBe(2000);
    expect(conversation.messages).toHaveLength(1);
  });
});
