// The demo really checks: it holds whatever is answered, leaves nothing behind, and needs a store that outlives a
// process.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../main.ts";
import { captureOutput, type OutputCaptureOptions } from "../output-capture.ts";

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

const cli = (argv: readonly string[], options: OutputCaptureOptions = {}) =>
  captureOutput(main, argv, { cwd, ...options });

/** Somebody at a terminal who types the first of these at once, and each of the others when asked. */
function person(lines: readonly string[], thinksMs = 0) {
  const [early = "", ...answers] = lines;
  const modes: boolean[] = [];
  let asked = Promise.withResolvers<void>();
  async function* typed(): AsyncGenerator<string> {
    yield early;
    for (const line of answers) {
      await asked.promise;
      asked = Promise.withResolvers();
      await sleep(thinksMs);
      yield line;
    }
  }
  const stdin = Object.assign(typed(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const seen = (text: string) => {
    if (text.endsWith("Your answer: ")) setImmediate(() => asked.resolve());
  };
  return { columns: 80, env: { NO_COLOR: "1", USER: "ada" }, stdin, onStdout: seen, modes };
}

describe("demo", () => {
  test("prints its story at 80 columns, passes its checks, and cleans up", async () => {
    const { code, stdout } = await cli(["demo", "--yes"], { columns: 80, env: { NO_COLOR: "1" } });
    expect([code, stdout.includes("NOT TRUE")]).toEqual([0, false]);
    expect(stdout).toContain("✗ kill -9: process ");
    expect(stdout).toContain("took the run over\n");
    expect(stdout).toContain("bills#19  did pay happen?");
    expect(stdout).toMatch(/runs approve 'bills#19' --retry --store \S+agents\.db\n/);
    expect(stdout).toContain("--by demo\n");
    expect(stdout).toContain("✓ the bank's records have 3 payments: none twice\n");
    expect(stdout).toContain(": result, by demo");
    expect(stdout).toMatch(/bills: first bad event bills#\d+/);
    expect(stdout).toMatch(/\d+ claims checked in [\d.]+ s; all of them hold/);
    expect(stdout).toContain("Try next\n");
    const wide = stdout.split("\n").filter((line) => line.length > 80 && !line.includes(tmpdir()));
    expect(wide).toEqual([]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("asks the user at the terminal, and shows the effect of the answer", async () => {
    const [begun, thinksMs] = [performance.now(), 1500];
    const again = await cli(["demo"], person(["", "2\n"], thinksMs));
    const most = performance.now() - begun - thinksMs;
    const told = 1000 * Number(/claims checked in ([\d.]+) s/.exec(again.stdout)?.[1]);
    // To the tenth of a second, as it is told.
    expect(told).toBeLessThanOrEqual(most + 50);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Your answer: ")]);
    expect(again.stdout).toContain("✓ B-102 was paid twice because you said so, under one idempotency key\n");
    expect(again.stdout).toContain(": retry, by ada");
    const never = await cli(["demo"], person(["1\n", "3\n"]));
    expect([never.code, never.stdout]).toEqual([0, expect.stringContaining(": fail, by ada")]);
    expect(never.stdout).toContain("not paid: a person decided");
  });

  test("asks again for what is none of the choices, and keeps what else is typed out of the drawing", async () => {
    const ada = person(["", "7\n", "yes\n", "3\n"]);
    const { code, stdout } = await cli(["demo"], ada);
    expect([code, stdout.split("Your answer: ").length - 1]).toEqual([0, 3]);
    expect(stdout).toContain("Type 1, 2 or 3; Enter alone is 1.\n");
    expect(stdout).toContain(": fail, by ada");
    // Echoed only while it asks, and as it was found in the end.
    expect(ada.modes).toEqual([true, false, true, false, true, false, true, false]);
    const enter = await cli(["demo"], person(["", "\n"]));
    expect([enter.code, enter.stdout]).toEqual([0, expect.stringContaining(": result, by ada")]);
  });

  test("--json lists what was checked; --store uses a given store, again and again", async () => {
    for (let round = 0; round < 2; round++) {
      const { code, stdout } = await cli(["demo", "--store", "mine.db", "--json"]);
      const told = JSON.parse(stdout);
      expect([code, told.ok, told.store]).toEqual([0, true, "mine.db"]);
      expect(told.claims.length).toBeGreaterThan(5);
      expect(told.claims.every(({ holds }: { holds: boolean }) => holds)).toBe(true);
      expect(told).toMatchObject({ killed: { signal: "SIGKILL" }, decision: { verdict: "result", by: "demo" } });
      expect(told.payments.map(({ bill }: { bill: string }) => bill)).toEqual(["B-101", "B-102", "B-103"]);
      expect(told.damage.badSeq).toBe(told.damage.changedSeq);
      expect(told.ms).toBeLessThan(20_000);
    }
    expect(existsSync(path.join(cwd, "mine.db"))).toBe(true);
    expect(readdirSync(cwd).filter((name) => name.startsWith("holdfast-demo-"))).toEqual([]);
  });

  test("--keep keeps the store, with the bytes of blobs in --blob-dir", async () => {
    const { code, stdout } = await cli(["demo", "--keep", "--json"]);
    const { store, run } = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(await cli(["verify", "--store", store])).toMatchObject({ code: 0 });
    const kept = path.dirname(path.resolve(cwd, store));
    const files = readdirSync(kept).map((name) => [name, statSync(path.join(kept, name)).mode & 0o777]);
    // ST16: the owner's alone, the bank's book among them, under a umask that others may read by.
    expect(files).toContainEqual(["bank.jsonl", 0o600]);
    expect(files.filter(([, mode]) => mode !== 0o600)).toEqual([]);
    const shown = await cli(["runs", "show", run, "--store", store], { columns: 80, env: { NO_COLOR: "1" } });
    expect(shown.stdout).toContain("its worker was gone; taken over by");
    expect(shown.stdout).toMatch(/demo decided on tool pay after [^:]+: it\s+happened/);
    expect(shown.stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
    const argv = ["demo", "--store", "mine.db", "--blob-dir", "bytes", "--json"];
    expect(await cli(argv)).toMatchObject({ code: 0 });
  });

  test("needs a store that outlives a process, and a place for it", async () => {
    expect(await cli(["demo", "--store", ":memory:"])).toMatchObject({ code: 2 });
    expect(await cli(["demo", "--store", "no/where.db"])).toMatchObject({ code: 6 });
    expect(readdirSync(cwd)).toEqual([]);
  });
});
