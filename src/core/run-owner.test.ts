// The owner of a lease as one text.
import { expect, test } from "vitest";
import type { Environment } from "../contracts/environment.ts";
import { describeOwner, ownerText } from "./run-owner.ts";

test("RU3 an owner is told apart from its process, also on a host with an @ in its name", () => {
  const processes = { self: () => "me@home/12/345/6/7/boot", liveness: () => "unknown" };
  const owner = ownerText({ processes } as unknown as Environment, "worker_1");
  expect(describeOwner(owner)).toEqual({ worker: "worker_1", host: "me@home", pid: 12 });
  expect(describeOwner("worker_1")).toEqual({ worker: "worker_1", host: null, pid: null });
});
