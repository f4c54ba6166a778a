// The demo really checks: it holds, leaves nothing behind, and fails when a claim does not hold.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { capture } from "../capture.ts";
import { survivors, writerText } from "../demo/crash.ts";
import { main } from "../main.ts";
import { openStore } from "../store.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  // The demo's temporary directory is made in here, where it would be noticed if it stayed.
  vi.stubEnv("TMPDIR", cwd);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(cwd, { recursive: true, force: true });
});

describe("demo", () => {
  test("tells its story at 80 columns, holds, and cleans up", async () => {
    const { code, stdout, stderr } = await capture(main, ["demo"], { cwd, columns: 80, env: { NO_COLOR: "1" } });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).not.toContain("NOT TRUE");
    expect(stdout).toContain("$ holdfast messages trip\n");
    expect(stdout).toContain("(SIGKILL)");
    expect(stdout).toMatch(/ ✓ all \d+ acknowledged messages are there; 0 lost\n/);
    expect(stdout).toContain("trip: first bad seq 4");
    expect(stdout).toMatch(/\d+ claims checked in [\d.]+ s; all of them hold/);
    expect(stdout).toContain("Try next\n");
    const wide = stdout.split("\n").filter((line) => line.length > 80 && !line.includes(tmpdir()));
    expect(wide).toEqual([]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("--json tells what was checked; --store uses a store of yours, again and again", async () => {
    for (let round = 0; round < 2; round++) {
      const { code, stdout } = await capture(main, ["demo", "--store", "mine.db", "--json"], { cwd });
      const told = JSON.parse(stdout);
      expect([code, told.ok, told.store]).toEqual([0, true, "mine.db"]);
      expect(told.claims.length).toBeGreaterThan(5);
      expect(told.claims.every(({ holds }: { holds: boolean }) => holds)).toBe(true);
      expect(told.crash).toMatchObject({ lost: 0, broken: 0, contiguous: true, signal: "SIGKILL" });
      expect(told.crash.stored).toBeGreaterThanOrEqual(told.crash.acknowledged);
      expect(told.damage.badSeq).toBe(told.damage.changedSeq);
      expect(told.ms).toBeLessThan(10_000);
    }
    expect(existsSync(path.join(cwd, "mine.db"))).toBe(true);
    expect(readdirSync(cwd).filter((name) => name.startsWith("holdfast-demo-"))).toEqual([]);
  });

  test("--keep keeps the store", async () => {
    const { code, stdout } = await capture(main, ["demo", "--keep", "--json"], { cwd });
    const { store } = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(await capture(main, ["verify", "--store", store], { cwd })).toMatchObject({ code: 0 });
  });

  test("keeps blob bytes where it is told to", async () => {
    const argv = ["demo", "--store", "mine.db", "--blob-dir", "bytes", "--json"];
    const { code, stdout } = await capture(main, argv, { cwd });
    expect([code, JSON.parse(stdout).ok]).toEqual([0, true]);
  });

  test("needs a store that outlives a process, and a place for it", async () => {
    expect(await capture(main, ["demo", "--store", ":memory:"], { cwd })).toMatchObject({ code: 2 });
    expect(await capture(main, ["demo", "--store", "no/where.db"], { cwd })).toMatchObject({ code: 6 });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("would notice a lost, a broken and a repeated message", async () => {
    const choice = { url: path.join(cwd, "a.db"), name: "a.db", blobDirectory: undefined };
    const hf = await openStore(choice, { create: true });
    const scope = { session: "s", agent: "writer" };
    const append = (number: number, content = writerText(number)) =>
      hf.history.append(scope, { role: "assistant", content });
    const [one, two] = [await append(1), await append(2)];
    const killed = (acknowledged: [number, number][]) => ({
      acknowledged: new Map(acknowledged),
      signal: "SIGKILL",
      pid: 1,
      ms: 1,
    });
    const promised: [number, number][] = [
      [one.seq, 1],
      [two.seq, 2],
    ];
    expect(await survivors(hf, "s", killed(promised))).toEqual({ stored: 2, lost: 0, broken: 0, contiguous: true });
    expect(await survivors(hf, "s", killed([...promised, [9, 3]]))).toMatchObject({ lost: 1 });
    await append(3, writerText(3).slice(0, -1));
    await append(4, "");
    expect(await survivors(hf, "s", killed(promised))).toMatchObject({ stored: 4, broken: 2, contiguous: true });
    await append(2);
    expect(await survivors(hf, "s", killed(promised))).toMatchObject({ stored: 5, contiguous: false });
    await hf.close();
  });
});
