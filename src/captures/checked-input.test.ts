// What callers hand in: bytes are those of the call, whatever the caller does with the array afterwards, and what cannot be read is the
// caller's mistake, told as one.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";

const sessionId = "7b1c1a4e-2f0d-4c39-9c55-0d8a3c1f9e77";
const path = `project/${sessionId}.jsonl`;
const origin = { request: "r", agent: "claude-code", sessionId, cwd: "/w" } as const;
const capture = (content: unknown, more = {}) => {
  return { ...origin, files: [{ role: "transcript", path, content, ...more }] } as never;
};
const throwing = (target: object) => {
  const fail = () => {
    throw new Error("a trap");
  };
  return new Proxy(target, { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail });
};
function detached(): Uint8Array {
  const bytes = new Uint8Array([1, 2, 3]);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

for (const engine of ENGINES) {
  describe(`what is handed in on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    beforeEach(async () => {
      ground = await engine.fresh();
      hf = await open(ground.url);
      // Its code is loaded: a call reads its arguments itself from now on.
      await hf.captures.list();
      await hf.blobs.list();
    });
    afterEach(async () => {
      await hf.close();
      await ground.end();
    });

    const content = async (id: string) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of hf.captures.read(id, path)) pieces.push(piece);
      return Buffer.concat(pieces);
    };

    test.each([
      ["small", 1000, {}],
      ["large", 3_000_000, {}],
      ["growing", 1000, { grows: true }],
    ] as const)("CA1 a %s file is saved as it was when save was called", async (_, size, more) => {
      const bytes = new Uint8Array(size).fill(65);
      const saving = hf.captures.save(capture(bytes, more));
      bytes.fill(66);
      const { id } = await saving;
      expect((await content(id)).equals(Buffer.alloc(size, 65))).toBe(true);
    });

    test.each([1000, 3_000_000])("BL1 a blob of %i bytes is stored as it was when store was called", async (size) => {
      const bytes = new Uint8Array(size).fill(65);
      const storing = hf.blobs.store(bytes);
      bytes.fill(66);
      expect(Buffer.from(await hf.blobs.resolve(await storing)).equals(Buffer.alloc(size, 65))).toBe(true);
    });

    test("CA1 what cannot be read is InvalidArgument, and nothing is saved", async () => {
      const bytes = new Uint8Array([1, 2, 3]);
      const calls: readonly (() => Promise<unknown>)[] = [
        ...[throwing(bytes), throwing({}), throwing([]), new Proxy(bytes, {}), detached()].flatMap((one) => [
          () => hf.blobs.store(one as never),
          () => hf.captures.save(capture(one)),
          () => hf.captures.putBundle(one as never, { request: "r" }),
        ]),
        () => hf.blobs.store(bytes, throwing({})),
        () => hf.captures.save(throwing({}) as never),
        () => hf.captures.save({ ...origin, files: throwing([]) } as never),
        () => hf.captures.save({ ...origin, files: [throwing({})] } as never),
      ];
      for (const call of calls) {
        await expect(call()).rejects.toMatchObject({ name: "HoldfastError", code: "InvalidArgument" });
      }
      expect((await hf.captures.list({ diverged: true })).items).toEqual([]);
      expect((await hf.blobs.list()).items).toEqual([]);
    });
  });
}
