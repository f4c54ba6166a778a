// Connections that the server ended while they were unused, and whose end this process has not seen because it stood
// still: the next call finds that out before it sends anything, and uses another connection.
import { afterAll, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

const IDLE_MS = 300;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** No timer and no socket of this process is served meanwhile. */
function standStill(ms: number): void {
  Atomics.wait(pause, 0, 0, ms);
}

const CALLS: Readonly<Record<string, (store: Holdfast) => Promise<unknown>>> = {
  "an append": ({ history }) => history.append({ session: "s", agent: "a" }, { role: "user", content: "again" }),
  "a read": ({ history }) => history.session("s"),
  "a commit of several round trips": ({ sessions }) => sessions.create({ id: `new-${Date.now()}` }),
  "a query": ({ query }) => query({ find: ["?id"], where: [["?s", ":session/id", "?id"]] }),
};

describe("after the server ended its idle connections", () => {
  test.each(Object.entries(CALLS))("ST12 %s is the first call, and succeeds", async (_, call) => {
    const store = await open(`${await stores.schema()}&idle_session_timeout=${IDLE_MS}`);
    await store.history.append({ session: "s", agent: "a" }, { role: "user", content: "first" });
    standStill(IDLE_MS * 3);
    await call(store);
    expect(await store.log.verify("s")).toMatchObject({ ok: true });
    await store.close();
  });
});
