// What a few kilobytes may become: refused by its limit, with bounded memory, and nothing is written. A process of its own reads
// them, because its largest size is what counts.
import { afterAll, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { makeBombs } from "./bombs.ts";
import { fileOf, readHostile } from "./hostile-batch.ts";
import { hostileFiles } from "./hostile-files.ts";
import { TestStores } from "./stores.ts";

const LARGEST_BOMB_BYTES = 2_000_000;
/** There are 16 kinds. */
const GENERATED = scaled({ short: 48, long: 150 });

const stores = new TestStores();
afterAll(() => stores.remove());

test("CA6, AR2 bundles, transcripts and archives that unfold to gigabytes are refused in little memory", () => {
  const bombs = makeBombs();
  expect(bombs.filter(({ bytes }) => bytes.length > LARGEST_BOMB_BYTES).map(({ name }) => name)).toEqual([]);
  const { outcomes, left } = readHostile(bombs, stores.folder);
  for (const [i, bomb] of bombs.entries()) {
    const { name, kind, code } = bomb;
    const rest = { bundle: ["refused", code], transcript: ["refused"], archive: [] }[kind];
    expect(outcomes[fileOf(bomb, i)], name).toEqual([code, ...rest]);
  }
  expect(left).toEqual({ home: [], sessions: 0, captures: 0 });
});

test("CA6, AR2 generated files that are truncated, forged and nested end with a typed error in little memory", () => {
  // Fails unless each does.
  readHostile(hostileFiles(1, GENERATED), stores.folder);
});
