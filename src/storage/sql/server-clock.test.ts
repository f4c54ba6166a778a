// The server's clock as a handle measures it: through a connection that takes its time, with a machine whose clock is wrong.
import { expect, test } from "vitest";
import { type SimulatedEnvironment, simulatedEnvironment } from "../../testing/environment.ts";
import { REMEASURE_MS, ServerClock } from "./server-clock.ts";

const TEN_MINUTES = 600_000;

/** A server whose clock can be set, and a way there that takes so long. */
class Server {
  aheadMs = -TEN_MINUTES;
  reads = 0;
  there = 10;
  back = 10;
  isDown = false;
  readonly #environment: SimulatedEnvironment;

  constructor(environment: SimulatedEnvironment) {
    this.#environment = environment;
  }

  get time(): number {
    return 1_767_225_600_000 + this.#environment.monotonic() + this.aheadMs;
  }

  readonly read = async (): Promise<number> => {
    this.reads++;
    await this.#environment.sleep(this.there);
    if (this.isDown) throw new Error("it is down");
    const { time } = this;
    await this.#environment.sleep(this.back);
    return time;
  };
}

async function start(): Promise<[ServerClock, Server, SimulatedEnvironment]> {
  const environment = simulatedEnvironment(1);
  const server = new Server(environment);
  const opening = ServerClock.open(environment, server.read);
  await environment.advance(20);
  return [await opening, server, environment];
}

test("ST3 the server's time is known to within half of a round trip, and a difference of seconds is told", async () => {
  const [clock, server, environment] = await start();
  expect(clock.now()).toBe(server.time);
  expect(clock.read()).toEqual({
    now: server.time,
    source: "server",
    machineAheadMs: TEN_MINUTES,
    uncertaintyMs: 10,
  });
  expect(environment.logs).toMatchObject([
    { level: "warn", event: "store.clock", fields: { machineAheadMs: TEN_MINUTES, uncertaintyMs: 10 } },
  ]);
  expect(environment.logs[0]?.fields.error).toContain("600 s ahead of the database server's");
});

test("ST3 a slow answer changes nothing, a fast one tells more", async () => {
  const [clock, server, environment] = await start();
  [server.there, server.back] = [5000, 1];
  await environment.advance(REMEASURE_MS);
  clock.now();
  await environment.advance(5001);
  expect(server.reads).toBe(2);
  expect(clock.now()).toBe(server.time);
  [server.there, server.back] = [1, 1];
  await environment.advance(REMEASURE_MS);
  clock.now();
  await environment.advance(2);
  expect(clock.read()).toMatchObject({ now: server.time, uncertaintyMs: 1 });
});

test("ST3 a machine whose clock is set keeps the server's time, measures it anew and tells the difference", async () => {
  const [clock, server, environment] = await start();
  await environment.advance(2000);
  environment.jump(-2 * TEN_MINUTES);
  expect(clock.now()).toBe(server.time);
  expect(server.reads).toBe(2);
  await environment.advance(20);
  expect(clock.read()).toMatchObject({ now: server.time, machineAheadMs: -TEN_MINUTES });
  expect(environment.logs.map(({ fields }) => fields.machineAheadMs)).toEqual([TEN_MINUTES, -TEN_MINUTES]);
});

test("ST3 a server whose clock is set is followed after a minute at most; one that is down is asked again", async () => {
  const [clock, server, environment] = await start();
  server.aheadMs += 3000;
  await environment.advance(REMEASURE_MS - 1000);
  clock.now();
  expect(server.reads).toBe(1);
  server.isDown = true;
  await environment.advance(1000);
  expect(clock.now()).toBe(server.time - 3000);
  await environment.advance(20);
  expect(clock.now()).toBe(server.time - 3000);
  server.isDown = false;
  await environment.advance(REMEASURE_MS);
  clock.now();
  await environment.advance(20);
  expect(server.reads).toBe(3);
  expect(clock.now()).toBe(server.time);
});
