// What open() takes and refuses, and names that must not mean two things.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES } from "../test/engines.ts";
import { main } from "./cli/main.ts";
import { captureOutput } from "./cli/output-capture.ts";
import { open } from "./open.ts";

describe("open", () => {
  let directory: string;
  const before = process.cwd();
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-open-"));
    process.chdir(directory);
  });
  afterEach(() => {
    process.chdir(before);
    rmSync(directory, { recursive: true, force: true });
  });

  test("LG7 a tail that is ended while it waits ends at once", async () => {
    const hf = await open(":memory:");
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hi" });
    for (const _ of ["while its code is loaded", "with its code there"]) {
      const tail = hf.log.tail("s", { after: "end" })[Symbol.asyncIterator]();
      const next = tail.next();
      await tail.return?.();
      expect(await next).toMatchObject({ done: true });
    }
    const unused = hf.log.tail("s")[Symbol.asyncIterator]();
    await unused.return?.();
    expect(await unused.next()).toMatchObject({ done: true });
    await hf.close();
  });

  test("ST7 file: without slashes is a path from here, with them a URL", async () => {
    await (await open("file:here.db")).close();
    await (await open(`file://${directory}/there.db`)).close();
    expect(["here.db", "there.db"].map((name) => existsSync(join(directory, name)))).toEqual([true, true]);
  });

  test.each([
    "sqlite:x.db",
    "sqlite:///x.db",
    "mysql://h/d",
    "https://host/store",
    "",
    "a\0b",
    "postgres://h/d?schema=a-b",
  ])("ST7 %j is BadUrl", async (url) => {
    await expect(open(url)).rejects.toMatchObject({ code: "BadUrl" });
  });

  test("ST7 a password never shows in an error", async () => {
    const error = await open("redis://me:secret@host/0").catch((caught: unknown) => caught);
    expect(JSON.stringify(error)).not.toContain("secret");
    const refused = await open("postgres://me:secret@127.0.0.1:1/db").catch((caught: unknown) => caught);
    expect(JSON.stringify(refused)).not.toContain("secret");
    expect(String(refused)).not.toContain("secret");
    for (const url of [" postgres://u:secret@h/d", "postgres//u:secret@h", "pg:u:secret@h", "file://u:secret@h/x"]) {
      const bad = await open(url).catch((caught: unknown) => caught);
      expect(bad).toMatchObject({ code: "BadUrl" });
      expect(`${String(bad)} ${JSON.stringify(bad)}`).not.toContain("secret");
    }
    await expect(open("postgres://u:%zz@h/d")).rejects.toMatchObject({ code: "BadUrl" });
  });

  test("ST7 an option nobody knows is refused, not ignored", async () => {
    const misspelt = { durabilty: "normal" } as object;
    await expect(open(":memory:", misspelt)).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  test("ST7 what is iterated over after close is refused with Closed as well", async () => {
    const hf = await open(":memory:");
    await hf.sessions.create({ id: "s" });
    await hf.close();
    const drain = async (items: AsyncIterable<unknown>) => {
      for await (const item of items) expect(item).toBeUndefined();
    };
    await expect(drain(hf.log.tail("s"))).rejects.toMatchObject({ code: "Closed" });
    await expect(drain(hf.blobs.stream(`sha256:${"0".repeat(64)}`))).rejects.toMatchObject({ code: "Closed" });
  });

  test("ST5 a field of a message nobody would keep is refused, not dropped", async () => {
    await using hf = await open(":memory:");
    const message = { role: "user", content: "hi", name: "bob" } as const;
    await expect(hf.history.append({ session: "s", agent: "a" }, message)).rejects.toMatchObject({
      code: "InvalidArgument",
    });
    expect(await hf.sessions.get("s")).toBeNull();
  });
});

describe("PostgreSQL URLs", () => {
  test.each(["shcema=team_a", "search_path=other", "synchronous_commit=off", "password=hush"])(
    "ST7 ?%s is refused before anything is sent, with what there is",
    async (parameter) => {
      const [name = "", value = ""] = parameter.split("=");
      const opening = open(`postgres://me@127.0.0.1:1/db?sslmode=disable&application_name=x&${parameter}`);
      await expect(opening).rejects.toMatchObject({
        code: "BadUrl",
        message: expect.stringMatching(new RegExp(`no parameter "${name}"; the parameters are schema, sslmode, `)),
      });
      await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(value) });
    },
  );

  for (const engine of ENGINES) {
    if (engine.name !== "postgres") continue;
    test("ST7 those the client and the server know are passed on; a database that is not there is said", async () => {
      const ground = await engine.fresh();
      try {
        const url = new URL(ground.url);
        for (const [name, value] of [
          ["sslmode", "disable"],
          ["application_name", "mine"],
          ["statement_timeout", "60000"],
          ["connect_timeout", "5"],
        ] as const)
          url.searchParams.set(name, value);
        await (await open(url.href)).close();
        url.pathname = "/nosuch";
        await expect(open(url.href, { create: false })).rejects.toMatchObject({
          code: "NotFound",
          message: expect.stringContaining('database "nosuch" does not exist'),
          hint: expect.stringContaining("Create the database first"),
        });
        const answer = await captureOutput(main, ["sessions", "--store", url.href]);
        expect([answer.code, answer.stderr]).toEqual([3, expect.stringContaining('"nosuch" does not exist')]);
        expect(answer.stderr).not.toContain("holdfast init");
      } finally {
        await ground.end();
      }
    });
  }
});

for (const engine of ENGINES) {
  describe(`names on ${engine.name}`, () => {
    test("ST7 no session is made or read under a name that is an alias", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      try {
        await hf.sessions.create({ id: "s" });
        await hf.sessions.setAlias("s", "latest");
        const scope = { session: "latest", agent: "a" };
        for (const attempt of [
          () => hf.history.append(scope, { role: "user", content: "hi" }),
          () => hf.state.set("latest", { a: 1 }),
          () => hf.sessions.create({ id: "latest" }),
          () => hf.tasks.create("latest", ["x"]),
        ]) {
          await expect(attempt()).rejects.toMatchObject({ code: "AlreadyExists" });
        }
        expect((await hf.sessions.get("latest"))?.id).toBe("s");
        for (const read of [
          () => hf.history.get(scope),
          () => hf.history.count(scope),
          () => hf.history.session("latest"),
          () => hf.state.get("latest"),
          () => hf.state.getKey("latest", "a"),
          () => hf.tasks.root("latest"),
          () => hf.tasks.boards("latest"),
          () => hf.turns.begin("latest"),
          () => hf.heads.publish("latest"),
          () => hf.calls.start("latest", { type: "leaf" }),
        ]) {
          const details = { kind: "alias", id: "latest", session: "s" };
          await expect(read()).rejects.toMatchObject({ code: "NotFound", details });
        }
        // What takes a locator and reads finds a session by its alias too.
        expect((await hf.log.read("latest"))[0]?.session).toBe("s");
        expect((await hf.trace("latest"))[0]?.id).toBe("s#1");
        expect((await hf.heads.list("latest")).items).toEqual([]);
        expect(await hf.history.get({ session: "nobody", agent: "a" })).toEqual([]);
        expect(await hf.state.get("nobody")).toEqual({});
      } finally {
        await hf.close();
        await ground.end();
      }
    });
  });
}
