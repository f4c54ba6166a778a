// The command as a whole: overview, help, versions, failures and their exit codes, driven through main().
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { HoldfastError } from "../contracts/errors.ts";
import { hidePassword } from "../core/store-url.ts";
import { isGroup } from "./command-line.ts";
import { EXIT_MEANINGS, exitOf } from "./exit.ts";
import { reportFailure } from "./failure-report.ts";
import { main, processIo } from "./main.ts";
import { Output } from "./output.ts";
import { captureOutput, type OutputCaptureOptions } from "./output-capture.ts";
import { COMMANDS } from "./registry.ts";
import { chooseStore, storeOptions } from "./store.ts";
import { displayWidth } from "./terminal.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const cli = (argv: string, options: OutputCaptureOptions = {}) =>
  captureOutput(main, argv.split(" ").filter(Boolean), { cwd, ...options });

describe("holdfast", () => {
  test("alone explains itself: every command, the exit codes, what to try", async () => {
    const { code, stdout, stderr } = await cli("");
    expect([code, stderr]).toEqual([0, ""]);
    for (const { name, summary, hidden } of COMMANDS) {
      if (hidden) expect(stdout).not.toContain(name);
      else expect(stdout).toMatch(new RegExp(`^ {2}${name} +${summary.replaceAll(/[.?*()]/g, "\\$&")}`, "m"));
    }
    for (const [exit] of EXIT_MEANINGS) expect(stdout).toMatch(new RegExp(`^ {2}${exit} {3}`, "m"));
    expect((await cli("--help")).stdout).toBe(stdout);
    expect((await cli("help")).stdout).toBe(stdout);
  });

  test("explains itself to programs too", async () => {
    const { commands, options, exitCodes } = JSON.parse((await cli("--help --json")).stdout);
    expect(commands.map(({ name }: { name: string }) => name)).toContain("sessions");
    expect(options.store.summary).toContain("HOLDFAST_STORE");
    expect(exitCodes).toHaveLength(10);
    expect(JSON.parse((await cli("sessions rm --help --json")).stdout).options.yes.type).toBe("flag");
  });

  test("prints its version", async () => {
    expect((await cli("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
    expect(JSON.parse((await cli("--version --json")).stdout).node).toBe(process.version);
    const { stdout } = await cli("--version");
    for (const asked of ["-v", "version"]) expect(await cli(asked)).toEqual({ code: 0, stdout, stderr: "" });
  });

  const paths = COMMANDS.flatMap((command) => [
    command.name,
    ...(isGroup(command) ? command.commands.map(({ name }) => `${command.name} ${name}`) : []),
  ]);

  const every = COMMANDS.flatMap((command) => (isGroup(command) ? command.commands : [command]));

  test("shows every option in the usage of its command, and of its group", () => {
    const unseen = every.flatMap(({ usage, options }) =>
      Object.keys(options)
        .filter((option) => !usage.some((line) => line.includes(`--${option}`)))
        .map((option) => `${usage[0]}: --${option}`),
    );
    expect(unseen).toEqual([]);
    const groups = COMMANDS.filter(isGroup).flatMap(({ usage, commands }) =>
      commands.flatMap((command) =>
        Object.keys(command.options).filter((option) => !usage.join().includes(`--${option}`)),
      ),
    );
    expect(groups).toEqual([]);
  });

  test.each(paths)("%s --help teaches: usage, examples, no line wider than the terminal", async (name) => {
    const { code, stdout } = await cli(`${name} --help`, { columns: 80, env: { NO_COLOR: "1" } });
    expect(code).toBe(0);
    expect(stdout).toContain(`holdfast ${name}: `);
    expect(stdout).toContain("\nUsage\n  holdfast ");
    expect(stdout).toMatch(/\nExamples\n( {2}\$ .*\n( {6}.*\n)+)+/);
    const prose = stdout.split("\n").filter((line) => !/^ {2}\$ /.test(line));
    for (const line of prose) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
    expect((await cli(`help ${name}`, { columns: 80, env: { NO_COLOR: "1" } })).stdout).toBe(stdout);
  });
});

describe("failures", () => {
  test("a mistake in the command line is one line and exit 2", async () => {
    const { code, stdout, stderr } = await cli("sesions");
    expect([code, stdout, stderr]).toEqual([2, "", 'holdfast: no command "sesions"; did you mean "sessions"?\n']);
  });

  test("with --json a mistake is JSON on stderr, and stdout stays empty", async () => {
    const { code, stdout, stderr } = await cli("sessions --limit x --json");
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "Usage", exit: 2 });
  });

  test.each([
    "sessions",
    "sessions show x",
    "sessions create x",
    "messages x",
    "messages add x --agent a hello",
    "log x",
    "log anchor x",
    "verify",
    "agents",
    "tasks x",
    "state x",
    "stats",
    "gc",
    "migrate",
    `blobs stat sha256:${"0".repeat(64)}`,
  ])("%s does not create a store that is not there, and says what to do", async (argv) => {
    const { code, stdout, stderr } = await cli(argv);
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toBe(
      "holdfast: no store at ./holdfast.db\n  hint: run `holdfast init` to create it, or pass --store URL\n",
    );
    expect(existsSync(path.join(cwd, "holdfast.db"))).toBe(false);
    expect(JSON.parse((await cli(`${argv} --json`)).stderr)).toMatchObject({ code: "NotFound", exit: 3 });
  });

  test("the way to create it names the same store", async () => {
    const hint = async (argv: string, env = {}) => /hint: (.*)/.exec((await cli(argv, { env })).stderr)?.[1];
    const named = "run `holdfast init --store nope.db` to create it, or pass another --store";
    expect(await hint("sessions --store nope.db")).toBe(named);
    expect(await hint("sessions", { HOLDFAST_STORE: "nope.db" })).toBe(named);
    expect(await hint("sessions --store it's.db")).toContain("`holdfast init --store 'it'\\''s.db'`");
  });

  test.each(["init", "sessions"])("%s refuses a store in memory, which would be gone at once", async (name) => {
    expect(await cli(`${name} --store :memory:`)).toEqual({
      code: 2,
      stdout: "",
      stderr: "holdfast: a store in memory is lost when the command ends; name a file with --store FILE\n",
    });
  });

  test("a store in a directory that is not there is not there either; to create one is exit 6", async () => {
    expect(await cli("stats --store no/where.db")).toMatchObject({ code: 3 });
    expect(await cli("init --store no/where.db")).toMatchObject({ code: 6 });
  });

  test("a file that is no store is exit 6", async () => {
    writeFileSync(path.join(cwd, "notes.txt"), "dear diary\n".repeat(1000));
    const { code, stderr } = await cli("sessions --store notes.txt");
    expect(code).toBe(6);
    expect(stderr).toMatch(/^holdfast: .+\n {2}hint: .+\n$/);
  });

  test("an address that is none is exit 2", async () => {
    expect(await cli("sessions --store ftp://example/x")).toMatchObject({ code: 2 });
  });

  test("shows no stack trace unless asked, and then the causes too", async () => {
    const reported = async (error: unknown, debug: boolean) => {
      const lines: string[] = [];
      const sink = {
        on: () => {},
        write: (chunk: string | Uint8Array, done: () => void) => {
          lines.push(String(chunk));
          done();
          return true;
        },
      };
      const code = await reportFailure(
        error,
        new Output(processIo({ stdout: sink, stderr: sink, env: {} }), false),
        debug,
      );
      return { code, text: lines.join("") };
    };
    const error = new HoldfastError("StoreBusy", "busy\x1b[2J", { hint: "wait", cause: new Error("inner") });
    expect(await reported(error, false)).toEqual({ code: 6, text: "holdfast: busy\\x1b[2J\n  hint: wait\n" });
    expect((await reported(error, true)).text).toMatch(/ at .*\ncaused by: Error: inner/s);
    const odd = await reported(new TypeError("x is undefined"), false);
    expect(odd).toMatchObject({ code: 1 });
    expect(odd.text).toMatch(/^holdfast: unexpected error: x is undefined\n {2}hint: .*HOLDFAST_DEBUG=1/);
  });

  test("exit codes say what kind of trouble it is", () => {
    expect([exitOf("InvalidId"), exitOf("SessionDeleted"), exitOf("Conflict")]).toEqual([2, 3, 4]);
    expect([exitOf("BlobCorrupted"), exitOf("SchemaTooNew"), exitOf("Internal")]).toEqual([5, 6, 1]);
  });
});

describe("the store of a command", () => {
  const io = (env: Record<string, string>) => processIo({ cwd: "/somewhere", env });

  test("is --store, else $HOLDFAST_STORE, else ./holdfast.db", () => {
    expect(chooseStore("a.db", undefined, io({ HOLDFAST_STORE: "b.db" })).url).toBe("/somewhere/a.db");
    expect(chooseStore(undefined, undefined, io({ HOLDFAST_STORE: "b.db" })).name).toBe("b.db");
    expect(chooseStore(undefined, undefined, io({ HOLDFAST_STORE: "" })).name).toBe("./holdfast.db");
    expect(chooseStore("postgres://h/d", "blobs", io({}))).toEqual({
      url: "postgres://h/d",
      name: "postgres://h/d",
      blobDirectory: "/somewhere/blobs",
    });
    expect(chooseStore(":memory:", undefined, io({})).url).toBe(":memory:");
  });

  test("is shown without its password", () => {
    expect(hidePassword("postgres://me:s3cr3t@host:5432/db")).toBe("postgres://me:***@host:5432/db");
    expect(hidePassword("postgres://me:p@ss:w@rd@host/db?x=1")).toBe("postgres://me:***@host/db?x=1");
    expect(hidePassword("postgres://host/db?user=me&password=s3cr3t")).toBe("postgres://host/db?user=me&password=***");
    expect(hidePassword("./a:b@c.db")).toBe("./a:b@c.db");
    for (const text of ["a:b@c.db", "//me:s3cr3t@host/db", "user=me password=s3cr3t", "postgres:/me:s3cr3t@host/db"]) {
      expect(hidePassword(text)).toBe("***");
    }
    expect(hidePassword("postgres://me:1/s3cr3t@host/db")).toBe("postgres://***");
  });

  test("is named in a command to copy, also where its password is hidden: without it the command would use another store", () => {
    const { name } = chooseStore("postgres://me:s3cr3t@host/db", undefined, io({}));
    expect(storeOptions(name, undefined)).toBe(" --store 'postgres://me:***@host/db'");
    expect(storeOptions(undefined, undefined)).toBe("");
  });
});
