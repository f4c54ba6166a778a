// What a closing store does with the claims it holds: it releases them, and does not wait for ever where that fails.
import { expect, test } from "vitest";
import type { RequestClaim } from "../contracts/captures.ts";
import { simulatedEnvironment } from "../testing/environment.ts";
import { OpenClaims } from "./open-claims.ts";

function claim(release: () => Promise<void>): RequestClaim {
  const { signal } = new AbortController();
  return { lost: signal, previous: null, describe: async () => {}, settle: async () => {}, release };
}

test("CA21 closing ends although one claim cannot be released, and the store does not answer for another", async () => {
  const environment = simulatedEnvironment(1);
  const claims = new OpenClaims();
  const released: string[] = [];
  claims.add(claim(() => Promise.reject(new Error("the store is away"))));
  claims.add(claim(() => new Promise(() => {})));
  claims.add(claim(async () => void released.push("last")));
  let isClosed = false;
  const closing = claims.close(environment).then(() => {
    isClosed = true;
  });
  expect(claims.closing.aborted).toBe(true);
  await environment.advance(999);
  expect([isClosed, released]).toEqual([false, ["last"]]);
  await environment.advance(1);
  await closing;
});

test("CA21 closing waits no longer than its claims take, and no timer remains", async () => {
  const environment = simulatedEnvironment(1);
  const claims = new OpenClaims();
  const { promise, resolve } = Promise.withResolvers<void>();
  claims.add(claim(() => promise));
  const closing = claims.close(environment);
  expect(environment.sleepers()).toBe(1);
  resolve();
  await closing;
  expect(environment.sleepers()).toBe(0);
});
