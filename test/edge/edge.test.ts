// holdfast/edge in the real workerd, beside the whole package on the same store: each reads, verifies and goes on from what the
// other wrote.
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import type { Miniflare } from "miniflare";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repetitiveTranscript } from "../../bench/transcripts.ts";
import { readCaptureBundle } from "../../src/captures/bundle.ts";
import type { Capture } from "../../src/contracts/captures.ts";
import { HoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Message } from "../../src/contracts/messages.ts";
import { openEdge } from "../../src/edge.ts";
import { open } from "../../src/open.ts";
import { postgresUrl } from "../schemas.ts";
import { bundleWorker, startWorker } from "./workerd.ts";

const SESSION = "11111111-1111-4111-8111-111111111111";
const FILE = `project/${SESSION}.jsonl`;
const FORBIDDEN = /^node:(sqlite|worker_threads|fs|fs\/promises|child_process|os|inspector|vm)$/;
const schema = `hf_edge_${randomBytes(6).toString("hex")}`;
const root = path.resolve(import.meta.dirname, "../..");

let full: Holdfast;
let worker: Miniflare;
beforeAll(async () => {
  const { code } = await bundleWorker(path.join(import.meta.dirname, "worker.ts"));
  worker = startWorker(code, postgresUrl());
  full = await open(`${postgresUrl()}?schema=${schema}`);
});
afterAll(async () => {
  await full.close();
  await worker.dispose();
  const sql = postgres(postgresUrl(), { max: 1, onnotice: () => {} });
  await sql.unsafe(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await sql.end();
});

interface WorkerRequest {
  readonly body?: Uint8Array;
  readonly options?: object;
}

async function bytesOf(verb: string, given: object, { body, options }: WorkerRequest = {}) {
  const url = new URL(`http://worker/${verb}`);
  url.searchParams.set("options", JSON.stringify(options ?? { schema }));
  if (body !== undefined) url.searchParams.set("given", JSON.stringify(given));
  const answer = await worker.dispatchFetch(url, { method: "POST", body: body ?? JSON.stringify(given) });
  return { status: answer.status, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

async function ask<T>(verb: string, given: object, asked?: WorkerRequest): Promise<T> {
  const { status, bytes } = await bytesOf(verb, given, asked);
  const text = Buffer.from(bytes).toString();
  if (status !== 200) throw Object.assign(new Error(text), { answer: JSON.parse(text) });
  return JSON.parse(text) as T;
}

async function expectClean(): Promise<void> {
  expect(await full.check()).toMatchObject({ status: "ok", issues: [] });
}

describe("ST18 holdfast/edge", () => {
  test("imports nothing that a Worker does not have, and the test would see it", async () => {
    const { external, modules } = await bundleWorker(path.join(root, "src/edge.ts"));
    expect(external.filter((name) => FORBIDDEN.test(name))).toEqual([]);
    expect(
      modules.filter((name) => /sqlite\/|src\/(cli|runs\/worker|archive|coding\/(claude|opencode))\//.test(name)),
    ).toEqual([]);
    const whole = await bundleWorker(path.join(root, "src/open.ts"));
    expect(whole.external.filter((name) => FORBIDDEN.test(name))).toContain("node:sqlite");
  });

  test("history: what a Worker writes the whole package reads and verifies, and the other way round", async () => {
    const scope = { session: "s", agent: "a" };
    await ask("createSession", { id: "s", agent: "a" });
    const texts = ["hello", "é ".repeat(40), repetitiveTranscript(300_000).toString()];
    for (const content of texts) await ask("append", { scope, message: { role: "user", content } });
    for (const content of texts) await full.history.append(scope, { role: "assistant", content });
    await ask("append", { scope, message: { role: "user", content: "the end" } });
    const here = await full.history.get(scope);
    const there = await ask<readonly Message[]>("get", { scope });
    expect(there).toEqual(JSON.parse(JSON.stringify(here)));
    expect(here.map(({ content }) => (content as readonly { text?: string }[])[0]?.text)).toEqual([
      ...texts,
      ...texts,
      "the end",
    ]);
    expect(await ask("count", { scope })).toBe(7);
    expect(await full.log.verify("s")).toMatchObject({ ok: true });
    await expectClean();
  });

  test("captures: generations of a transcript that grows, written by turns", async () => {
    const transcript = Buffer.from(repetitiveTranscript(2_000_000));
    const upTo = (size: number) => transcript.subarray(0, size);
    const side = {
      role: "tool-result",
      path: `project/${SESSION}/tool-results/a.txt`,
      content: Buffer.from("out"),
    } as const;
    const scratch = await open(":memory:");
    const bundleOf = async (size: number) => {
      const files = [{ role: "transcript", path: FILE, content: upTo(size), grows: true } as const, side];
      const made = { request: "r", agent: "claude-code", sessionId: SESSION, cwd: "/w", files } as const;
      return scratch.captures.getBundle((await scratch.captures.save(made)).id);
    };
    const expectBoth = async (id: string, size: number) => {
      const { status, bytes } = await bytesOf("getBundle", { id });
      expect(status, Buffer.from(bytes.subarray(0, 2000)).toString()).toBe(200);
      const own = await full.captures.getBundle(id);
      for (const bundle of [bytes, own]) {
        const { contents } = await readCaptureBundle(bundle);
        expect(Buffer.compare(contents.get(FILE) ?? new Uint8Array(0), upTo(size))).toBe(0);
        expect(contents.get(side.path)?.toString()).toBe("out");
      }
    };
    try {
      const first = await ask<Capture>("putBundle", { request: "r" }, { body: await bundleOf(600_000) });
      await expectBoth(first.id, 600_000);
      // With dictionaries, behind what was written without.
      await full.captures.putBundle(await bundleOf(900_000), { request: "r" });
      await full.captures.putBundle(await bundleOf(910_000), { request: "r" });
      await expectBoth(first.id, 910_000);
      await ask("putBundle", { request: "r" }, { body: await bundleOf(1_000_000) });
      const last = await full.captures.putBundle(await bundleOf(1_900_000), { request: "r" });
      expect(last).toMatchObject({ id: first.id, generation: 5 });
      await expectBoth(first.id, 1_900_000);
    } finally {
      await scratch.close();
    }
    expect(await ask("latest", { request: "r" })).toMatchObject({ id: expect.any(String), generation: 5 });
    expect(await full.log.verify(`claude-code/${SESSION}`)).toMatchObject({ ok: true });
    await expectClean();
    const capture = await ask<Capture>("latest", { request: "r" });
    await ask("expire", { id: capture.id, at: 1 });
    expect(await ask("latest", { request: "r" })).toBeNull();
    expect(await full.captures.latest("r")).toBeNull();
    expect(await ask("deleteExpired", {})).toMatchObject({ removed: [{ id: capture.id }] });
    await expectClean();
  });

  test("refusals are typed and say what to do", async () => {
    const code = (verb: string, given: object, asked?: WorkerRequest) =>
      ask(verb, given, asked).then(
        () => null,
        (error: { answer?: { code?: string } }) => error.answer?.code,
      );
    expect(await code("putBundle", { request: "r" }, { body: Buffer.from("no bundle") })).toBe("ArchiveCorrupted");
    expect(await code("info", {}, { options: { schema: `${schema}_none`, create: false } })).toBe("NotFound");
    expect(await code("info", {}, { options: { schema, colour: "blue" } })).toBe("InvalidArgument");
    const sql = postgres(postgresUrl(), { max: 1, onnotice: () => {} });
    try {
      await sql.unsafe(`UPDATE ${schema}.holdfast_meta SET value = '999' WHERE name = 'schema'`);
      expect(await code("latest", { request: "r" })).toBe("SchemaTooNew");
    } finally {
      await sql.unsafe(`UPDATE ${schema}.holdfast_meta SET value = '${full.info.schemaVersion}' WHERE name = 'schema'`);
      await sql.end();
    }
    await expect(openEdge("file.db")).rejects.toMatchObject({ code: "BadUrl" });
    await expect(openEdge({} as never)).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  test("takes a client of the package postgres by its address", async () => {
    const client = postgres(postgresUrl(), { max: 1 });
    const store = await openEdge(client as never, { schema });
    try {
      expect(store.info.storeId).toBe(full.info.storeId);
      expect(await store.history.count({ session: "s", agent: "a" })).toBe(7);
    } finally {
      await store.close();
      await client.end();
    }
    await expect(store.captures.latest("r")).rejects.toMatchObject({ code: "Closed" });
    const secret = postgres("postgres://me@host/db", { password: async () => "x", max: 1 });
    await expect(openEdge(secret as never)).rejects.toMatchObject({ code: "InvalidArgument" });
  });

  const fail = () => {
    throw new Error("read");
  };
  const hostile = new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail });
  const client = (options: object) => ({
    options: { host: ["h"], port: [5432], database: "d", user: "u", pass: null, ...options },
  });
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each([
    ["a proxy that throws", hostile],
    ["a function that throws", new Proxy(() => {}, { get: fail })],
    ["a proxy that was revoked", revoked.proxy],
    ["options that throw", { options: hostile }],
    ["options that are null", { options: null }],
    ["a list of hosts that throws", client({ host: new Proxy([], { get: fail }) })],
    ["a host that throws", client({ host: [hostile] })],
    ["a host that is a number", client({ host: [1] })],
    ["a port that throws", client({ port: [hostile] })],
    ["a port that is none", client({ port: ["x"] })],
    ["a database that throws", client({ database: hostile })],
    ["a user that is a symbol", client({ user: Symbol("u") })],
    ["a user that is not Unicode", client({ user: "\ud800" })],
  ])("refuses %s as a connection with an error of its own", async (_, connection) => {
    const error: unknown = await openEdge(connection as never).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^Invalid(Argument|Text)$/) });
    expect(String(error)).toContain("connection");
  });
});
