// What a few kilobytes may become: refused by its limit, with bounded memory, and nothing is written. A process of its own reads
// them, because its largest size is what counts.
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { type Bomb, makeBombs } from "./bombs.ts";
import { Places } from "./places.ts";

const READER = fileURLToPath(new URL("bomb-reader.ts", import.meta.url));
/** Several times what it needs, and a fraction of what the bombs would become. */
const MOST_MB = 700;
const LARGEST_BOMB_BYTES = 2_000_000;

const places = new Places();
afterAll(() => places.remove());

test("CA6, AR2 bundles, transcripts and archives that unfold to gigabytes are refused in little memory", () => {
  const bombs = makeBombs();
  expect(bombs.filter(({ bytes }) => bytes.length > LARGEST_BOMB_BYTES).map(({ name }) => name)).toEqual([]);
  const url = places.file();
  const folder = mkdtempSync(path.join(places.folder, "bombs-"));
  const fileOf = ({ kind }: Bomb, i: number) => `${i}.${kind}`;
  for (const [i, bomb] of bombs.entries()) writeFileSync(path.join(folder, fileOf(bomb, i)), bomb.bytes);
  const text = execFileSync(process.execPath, [READER, url, folder], { encoding: "utf8", cwd: path.dirname(url) });
  const { outcomes, left, maxRssMb } = JSON.parse(text);
  for (const [i, bomb] of bombs.entries()) {
    const { name, kind, code } = bomb;
    const rest = { bundle: ["refused", code], transcript: ["refused"], archive: [] }[kind];
    expect(outcomes[fileOf(bomb, i)], name).toEqual([code, ...rest]);
  }
  expect(left).toEqual({ home: [], sessions: 0, captures: 0 });
  expect(maxRssMb).toBeLessThan(MOST_MB);
});
