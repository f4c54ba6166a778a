// A disk that is full or may not be written to: a typed error, nothing half-written, and the same handle goes on as
// soon as there is space again. Needs a small file system of its own, so it runs as root where mounting is permitted.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { examine, textOf } from "./examine.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
const mounted: string[] = [];

function unmountAll(): void {
  for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder]);
}

afterEach(unmountAll);
afterAll(() => stores.remove());

function mount(size: string): string | null {
  const folder = fs.mkdtempSync(path.join(stores.folder, "disk-"));
  if (spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]).status !== 0) return null;
  mounted.push(folder);
  return folder;
}

function disk(size: string): string {
  const folder = mount(size);
  if (folder === null) throw new Error("could be mounted before, and not now");
  return folder;
}

function remount(folder: string, options: string): void {
  expect(spawnSync("mount", ["-o", `remount,${options}`, folder]).status).toBe(0);
}

/** Takes what is left of the disk, but for so many bytes; removing the file gives it back. */
function fill(folder: string, leave = 0): string {
  const ballast = path.join(folder, "ballast");
  const { bavail, bsize } = fs.statfsSync(folder);
  const file = fs.openSync(ballast, "w");
  const block = Buffer.alloc(4096, 1);
  for (let left = bavail * bsize - leave; left >= block.length; left -= block.length) fs.writeSync(file, block);
  fs.closeSync(file);
  return ballast;
}

function append(store: Holdfast, n: number): Promise<unknown> {
  return store.history.append({ session: "chat", agent: "writer" }, { role: "user", content: textOf("writer", n) });
}

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "done";
  } catch (error) {
    return isHoldfastError(error) ? error.code : `${error}`;
  }
}

const mayMount = process.getuid?.() === 0 && mount("1m") !== null;
unmountAll();

describe.skipIf(!mayMount)(mayMount ? "a full disk" : "a full disk (skipped: this user cannot mount one here)", () => {
  /** Appends until it is refused; answers how many there are then. */
  async function appendUntilFull(store: Holdfast, from: number): Promise<number> {
    for (let n = from; n < from + 5000; n++) {
      const code = await codeOf(() => append(store, n));
      if (code === "done") continue;
      expect(code, `the refusal of message ${n}`).toBe("StoreFull");
      return n;
    }
    throw new Error("the disk does not get full");
  }

  async function expectExactly(store: Holdfast, messages: number): Promise<void> {
    const found = await examine(store, "chat");
    expect(found.map(({ n }) => n)).toEqual(Array.from({ length: messages }, (_, n) => n));
  }

  test("ST7 appends get StoreFull, nothing half is there, the same handle goes on when there is space", async () => {
    const folder = disk("3m");
    const ballast = fill(folder, 2 << 20);
    const url = path.join(folder, "store.db");
    const store = await open(url);
    let messages = await appendUntilFull(store, 0);
    expect(messages).toBeGreaterThan(10);
    await expectExactly(store, messages);

    const again = await Promise.allSettled([messages, messages, messages].map((n) => append(store, n)));
    for (const one of again) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "StoreFull", retryable: true } });
    }
    const many = Array.from({ length: 500 }, (_, i) => ({ role: "user", content: textOf("many", i) }) as const);
    expect(await codeOf(() => store.history.appendMany({ session: "chat", agent: "many" }, many))).toBe("StoreFull");
    await expectExactly(store, messages);

    fs.rmSync(ballast);
    for (let n = messages; n < messages + 20; n++) await append(store, n);
    messages = await appendUntilFull(store, messages + 20);
    await expectExactly(store, messages);

    remount(folder, "size=32m");
    for (let n = messages; n < messages + 500; n++) await append(store, n);
    await expectExactly(store, messages + 500);
    await store.close();
    const later = await open(url);
    await expectExactly(later, messages + 500);
    await later.close();
  });

  test("ST7 whatever little is left of the disk, an append is done or refused with StoreFull", async () => {
    const folder = disk("8m");
    const store = await open(path.join(folder, "store.db"));
    let messages = 0;
    for (let leave = 0; leave < 40 * 4096; leave += 4096) {
      const ballast = fill(folder, leave);
      const code = await codeOf(() => append(store, messages));
      expect(["done", "StoreFull"]).toContain(code);
      if (code === "done") messages++;
      fs.rmSync(ballast);
      // Forgets the log's space, which an append could use again without asking for any.
      if (leave % (8 * 4096) === 0) await append(store, messages++);
    }
    await expectExactly(store, messages);
    await store.close();
  });

  test("ST7 a store cannot be made on a full disk, and can be when there is space", async () => {
    const folder = disk("4m");
    const url = path.join(folder, "store.db");
    for (const leave of [0, 4096, 16 * 4096, 40 * 4096]) {
      const ballast = fill(folder, leave);
      expect(await codeOf(() => open(url)), `${leave} bytes left`).toBe("StoreFull");
      fs.rmSync(ballast);
      await (await open(`${url}-${leave}`)).close();
    }
    const store = await open(url);
    await append(store, 0);
    await expectExactly(store, 1);
    await store.close();
  });

  test("ST7 whatever little is left of the disk, gc is done or refused with StoreFull", async () => {
    const folder = disk("8m");
    const store = await open(path.join(folder, "store.db"), { blobTtlMs: 0 });
    let messages = 0;
    const codes = new Set<string>();
    for (let leave = 0; leave < 24 * 4096; leave += 4096) {
      for (let i = 0; i < 3; i++) await store.blobs.store(`${leave} ${i} ${"x".repeat(20_000)}${Math.sqrt(leave + i)}`);
      await append(store, messages++);
      const ballast = fill(folder, leave);
      for (const vacuum of [false, true]) {
        const code = await codeOf(() => store.blobs.gc({ vacuum }));
        expect(["done", "StoreFull"], `${leave} bytes left: ${code}`).toContain(code);
        codes.add(code);
      }
      fs.rmSync(ballast);
    }
    expect(codes).toContain("StoreFull");
    expect(await codeOf(() => store.blobs.gc({ vacuum: true }))).toBe("done");
    await expectExactly(store, messages);
    await store.close();
  });

  test("ST7 a store on a disk mounted read-only is refused with PermissionDenied", async () => {
    const folder = disk("4m");
    const url = path.join(folder, "store.db");
    const store = await open(url);
    await append(store, 0);
    await store.close();
    remount(folder, "ro");
    expect(await codeOf(() => open(url))).toBe("PermissionDenied");
    expect(await codeOf(() => open(path.join(folder, "new.db")))).toBe("PermissionDenied");
    remount(folder, "rw");
    const later = await open(url);
    await expectExactly(later, 1);
    await later.close();
  });
});

const isRoot = process.getuid?.() === 0;
const stranger = "somebody without the rights";

describe.skipIf(!isRoot)(isRoot ? stranger : `${stranger} (skipped: only root can become somebody else)`, () => {
  const NOBODY = 65_534;

  /**
   * The same process with the rights of the user "nobody": what is loaded already stays loaded, wherever the checkout
   * is.
   */
  async function asNobody<T>(work: () => Promise<T>): Promise<T> {
    process.setegid?.(NOBODY);
    process.seteuid?.(NOBODY);
    try {
      return await work();
    } finally {
      process.seteuid?.(0);
      process.setegid?.(0);
    }
  }

  function folder(mode: number): string {
    fs.chmodSync(stores.folder, 0o711);
    const made = fs.mkdtempSync(path.join(stores.folder, "rights-"));
    fs.chmodSync(made, mode);
    return made;
  }

  async function storeIn(folder: string, mode: number): Promise<string> {
    const url = path.join(folder, "store.db");
    const store = await open(url);
    await append(store, 0);
    await store.close();
    fs.chmodSync(url, mode);
    return url;
  }

  test("ST7 a folder that may not be written to", async () => {
    const url = path.join(folder(0o755), "new.db");
    expect(await asNobody(() => codeOf(() => open(url)))).toBe("PermissionDenied");
  });

  test("ST7 a file that may be read and not written to", async () => {
    const url = await storeIn(folder(0o755), 0o644);
    expect(await asNobody(() => codeOf(() => open(url)))).toBe("PermissionDenied");
  });

  test("ST7 a file that may not be read", async () => {
    const url = await storeIn(folder(0o777), 0o600);
    expect(await asNobody(() => codeOf(() => open(url)))).toBe("PermissionDenied");
  });

  test("ST7 a file that may be written to in a folder that may not", async () => {
    const url = await storeIn(folder(0o755), 0o666);
    expect(await asNobody(() => codeOf(() => open(url)))).toBe("PermissionDenied");
  });

  test("ST7 a folder that may not be entered", async () => {
    const locked = folder(0o700);
    const url = await storeIn(locked, 0o666);
    fs.mkdirSync(path.join(locked, "inner"));
    expect(await asNobody(() => codeOf(() => open(url)))).toBe("PermissionDenied");
    expect(await asNobody(() => codeOf(() => open(path.join(locked, "inner", "new.db"))))).toBe("PermissionDenied");
  });

  test("ST7 the store that was refused is as good as before", async () => {
    const url = await storeIn(folder(0o755), 0o644);
    await asNobody(() => codeOf(() => open(url)));
    const store = await open(url);
    expect(await examine(store, "chat")).toHaveLength(1);
    await store.close();
  });
});
