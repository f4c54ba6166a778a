// Connections that die at the worst moments, cut by a relay between the handle and PostgreSQL: the caller gets a typed
// error that says to try again, the handle goes on, and the process lives.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { open } from "../../src/open.ts";
import { examine, textOf } from "./examine.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

const scope = { session: "chat", agent: "writer" };
const message = (n: number) => ({ role: "user", content: textOf("writer", n) }) as const;

/** The end of what a server says when it waits for a statement. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** A statement was completed. */
const DONE = /C\0\0\0.(INSERT|SELECT|COMMIT)/s;

class Relay {
  /** New connections are cut when they ask for the first time after they have logged in. */
  cutsNew = false;
  /** Statements are passed on and done, and the connection is cut before it is said that they are. */
  losesAnswers = false;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#join(client));
  readonly #to: URL;

  constructor(to: string) {
    this.#to = new URL(to);
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const url = new URL(this.#to);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#to.port), this.#to.hostname);
    const cuts = this.cutsNew;
    let isReady = false;
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        client.destroy();
        server.destroy();
      });
    }
    server.on("data", (data) => {
      isReady ||= data.subarray(-READY.length).equals(READY);
      if (this.losesAnswers && DONE.test(data.toString("latin1"))) client.resetAndDestroy();
      else client.write(data);
    });
    client.on("data", (data) => {
      if (cuts && isReady) client.resetAndDestroy();
      else server.write(data);
    });
  }

  hangUp(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  stop(): void {
    this.#server.close();
    this.hangUp();
  }
}

describe("a connection that dies", () => {
  const relays: Relay[] = [];
  afterEach(() => {
    for (const relay of relays.splice(0)) relay.stop();
  });

  test("ST7 after a commit was sent: the error says that it may have happened, and here it has", async () => {
    const schema = await stores.schema();
    const relay = new Relay(schema);
    relays.push(relay);
    const store = await open(await relay.start());
    await store.history.append(scope, message(0));
    relay.losesAnswers = true;
    const lost = await store.history.append(scope, message(1)).catch((error: unknown) => error);
    expect(lost).toMatchObject({
      code: "StoreUnreachable",
      retryable: true,
      details: { commit: "unknown" },
      message: expect.stringMatching(
        /the connection to .* was lost \(\w+\) after the commit was sent; it may have happened$/,
      ),
      hint: expect.stringMatching(/repeat.*id.*key/),
    });
    // A read that is lost changed nothing, and does not say so.
    const read = await store.history.session("chat").catch((error: unknown) => error);
    expect(read).toMatchObject({ code: "StoreUnreachable", message: expect.stringMatching(/^cannot reach/) });
    relay.losesAnswers = false;
    expect((await examine(store, "chat")).map(({ n }) => n)).toEqual([0, 1]);
    await store.close();
  });

  test("ST7 as it opens, again and again: StoreUnreachable, and afterwards all is as before", async () => {
    const relay = new Relay(await stores.schema());
    relays.push(relay);
    const store = await open(await relay.start());
    await store.history.append(scope, message(0));
    relay.cutsNew = true;
    relay.hangUp();
    for (let i = 0; i < 5; i++) {
      const calls = await Promise.allSettled([
        store.history.append(scope, message(1)),
        store.history.append({ session: "other", agent: "writer" }, { ...message(1), key: "once" }),
        store.history.get(scope),
        store.sessions.get("chat"),
      ]);
      for (const call of calls) {
        expect(call).toMatchObject({ status: "rejected", reason: { code: "StoreUnreachable", retryable: true } });
      }
    }
    relay.cutsNew = false;
    await store.history.append(scope, message(2));
    expect((await examine(store, "chat")).map(({ n }) => n)).toEqual([0, 2]);
    expect(await store.sessions.get("other")).toBeNull();
    await store.close();
  });
});
