// A password in a URL is never shown, however the URL is broken: not in an error of the library, not in its details, hint or
// causes, and not by the command, in lines or in JSON.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { main } from "../src/cli/main.ts";
import { captureOutput } from "../src/cli/output-capture.ts";
import { isHoldfastError } from "../src/contracts/errors.ts";
import { open } from "../src/open.ts";
import { TestStores } from "./real/stores.ts";

const P = "s3cr3t-Pw";
const NOBODY = "127.0.0.1:1";

const MALFORMED = [
  `postgres://me:${P}@host:notaport/db`,
  `postgres://me:${P}@/db`,
  `postgres://me:${P}@host:99999/db`,
  `postgres:/me:${P}@host/db`,
  `postgres:me:${P}@host/db`,
  `postgres:\\\\me:${P}@host/db`,
  `postgres//me:${P}@host/db`,
  `postgress://me:${P}@host/db`,
  `postgre://me:${P}@host/db`,
  `pg://me:${P}@host/db`,
  `mysql://me:${P}@host/db`,
  `me:${P}@host/db`,
  `me:${P}@host:5432/db`,
  `m:${P}@host/db`,
  `//me:${P}@host/db`,
  `://me:${P}@host/db`,
  ` postgres://me:${P}@host/db`,
  `\tpostgres://me:${P}@host/db`,
  `"postgres://me:${P}@host/db"`,
  `'postgres://me:${P}@host/db'`,
  `<postgres://me:${P}@host/db>`,
  `./postgres://me:${P}@host/db`,
  `postgres://me:${P}%@host/db`,
  `postgres://me:${P}%zz@host/db`,
  `postgres://me:${P}@ho st/db`,
  // A character of the password that should be percent-encoded ends the host early.
  `postgres://me:a/${P}@host/db`,
  `postgres://me:1/${P}@host/db`,
  `postgres://me:1?${P}@host/db`,
  `postgres://me:1#${P}@host/db`,
  `postgres://me:1?${P}=x@host/db`,
  `postgres://me:1\\${P}@host/db`,
  ...[`postgres://me/${P}`, `postgres://${P}/x@host`].map((one) => `${one}@host/db`),
  `postgres://me:${P}@[::1/db`,
  `postgres://me:${P}@${NOBODY},127.0.0.1:2/db`,
  `postgres://me:${P}@${NOBODY}/%zz`,
  `postgres://${NOBODY}/db?password=${P}`,
  `postgres://${NOBODY}/db?user=me&password=${P}`,
  `postgres://me:${P}@${NOBODY}/db?nope=${P}`,
  `postgres://me@${NOBODY}/db?${P}=1`,
  `postgres://me@${NOBODY}/db?.${P}=1`,
  `postgres://me@${NOBODY}/db?target_session_attrs=${P}`,
  `postgres://me:${P}@${NOBODY}/db?schema=bad-name`,
  `DATABASE_URL=postgres://me:${P}@host/db`,
  `psql postgres://me:${P}@host/db`,
  `me:${P}@tcp(host:5432)/db`,
  `jdbc:postgresql://host/db?user=me&password=${P}`,
  `host=localhost user=me password=${P} dbname=x`,
  `postgresql+asyncpg://me:${P}@host/db`,
  `https://me:${P}@host/db`,
  `file://me:${P}@host/db`,
  `file:postgres://me:${P}@host/db`,
  `file:me:${P}@host/db`,
];
const WELL_FORMED = [
  `postgres://me:${P}@${NOBODY}/db`,
  `POSTGRES://me:${P}@${NOBODY}/db`,
  `postgresql://me:${P}@${NOBODY}/db`,
  `postgres://me:a@${P}@${NOBODY}/db`,
  `postgres://me:${P}@${NOBODY}/db?sslmode=${P}`,
];

const cwd = mkdtempSync(path.join(tmpdir(), "holdfast-passwords-"));
const places = new TestStores();
afterAll(async () => {
  await places.remove();
  rmSync(cwd, { recursive: true, force: true });
});

describe("a password", () => {
  test.each(MALFORMED)("ST7 is not shown by open(%j), which is BadUrl", async (url) => {
    const error = await open(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "BadUrl" });
    expect(everythingOf(error)).not.toContain(P);
  });

  test.each(WELL_FORMED)("ST7 is not shown by open(%j), which cannot be reached", async (url) => {
    const error = await open(url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "StoreUnreachable" });
    expect(everythingOf(error)).not.toContain(P);
  });

  test("ST7 is not shown by the command, whether it names the store or the environment does", async () => {
    for (const url of [...MALFORMED, ...WELL_FORMED]) {
      const answers = await Promise.all([
        captureOutput(main, ["sessions", "--store", url], { cwd }),
        captureOutput(main, ["init", "--json", "--store", url], { cwd }),
        // A command whose hint names the store again.
        captureOutput(main, ["messages", "--nope", "--store", url], { cwd }),
        captureOutput(main, ["stats", "--json"], { cwd, env: { HOLDFAST_STORE: url, HOLDFAST_DEBUG: "1" } }),
      ]);
      for (const { code, stdout, stderr } of answers) {
        expect(code, url).not.toBe(0);
        expect(`${stdout}${stderr}`, url).not.toContain(P);
      }
    }
  });

  test("ST7 is not shown by commands that name a store which they reached, or which is not there yet", async () => {
    const url = new URL(await places.schema());
    url.password ||= P;
    const named = async (...argv: readonly string[]) => {
      const answers = await Promise.all([
        captureOutput(main, [...argv, "--store", url.href], { cwd }),
        captureOutput(main, argv, { cwd, env: { HOLDFAST_STORE: url.href } }),
      ]);
      for (const { stdout, stderr } of answers)
        expect(`${stdout}${stderr}`, argv.join(" ")).not.toContain(url.password);
      return answers.map(({ code }) => code === 0);
    };
    expect(await named("sessions")).toEqual([false, false]);
    expect(await named("sessions", "--json")).toEqual([false, false]);
    for (const command of [["init"], ["init", "--json"], ["sessions"], ["stats", "--json"]]) {
      expect(await named(...command), command.join(" ")).toEqual([true, true]);
    }
  });
});

/** Whatever a logger could make of it. */
function everythingOf(error: unknown): string {
  const causes: unknown[] = [];
  for (let one = error; one instanceof Error; one = one.cause) causes.push(one.message, one.stack);
  const json = isHoldfastError(error) ? [error.toJSON(), error.hint, error.details] : [];
  return `${inspect(error, { depth: 9 })} ${JSON.stringify([causes, json])}`;
}
