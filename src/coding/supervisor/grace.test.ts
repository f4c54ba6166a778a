// The grace time: when it begins, what stops its clock, and what a signal does to it.
import { expect, test } from "vitest";
import { simulatedEnvironment } from "../../testing/environment.ts";
import { Grace } from "./agent-process.ts";

const NEVER = new AbortController().signal;

function watched(ending: Promise<void>): { isOver: boolean } {
  const seen = { isOver: false };
  void ending.then(() => {
    seen.isOver = true;
  });
  return seen;
}

test("CA20 it is over so long after the agent has ended, and reading the session by its own program does not count", async () => {
  const environment = simulatedEnvironment(1);
  const grace = new Grace(10_000, environment);
  await environment.advance(5000);
  const over = watched(grace.waitForDeadline(NEVER));
  await environment.advance(4000);
  grace.pause();
  await environment.advance(20_000);
  expect(over.isOver).toBe(false);
  grace.resume();
  await environment.advance(5999);
  expect(over.isOver).toBe(false);
  await environment.advance(1);
  expect(over.isOver).toBe(true);
});

test("CA20 reading does not stop the clock for ever", async () => {
  const environment = simulatedEnvironment(1);
  const grace = new Grace(10_000, environment);
  const over = watched(grace.waitForDeadline(NEVER));
  grace.pause();
  await environment.advance(69_999);
  expect(over.isOver).toBe(false);
  await environment.advance(2);
  expect(over.isOver).toBe(true);
});

test("CA20 after a signal nothing stops the clock, whatever stopped it before", async () => {
  const environment = simulatedEnvironment(1);
  const grace = new Grace(10_000, environment);
  const over = watched(grace.waitForDeadline(NEVER));
  grace.pause();
  await environment.advance(30_000);
  grace.beginUrgent();
  grace.pause();
  await environment.advance(9999);
  expect(over.isOver).toBe(false);
  await environment.advance(1);
  expect(over.isOver).toBe(true);
});

test("CA20 an agent that was asked to end has the grace time but for what saving needs; without a signal it is never late", async () => {
  const environment = simulatedEnvironment(1);
  const grace = new Grace(10_000, environment);
  const late = watched(grace.waitForAgentDeadline(NEVER));
  await environment.advance(3_600_000);
  expect(late.isOver).toBe(false);
  grace.beginUrgent();
  await environment.advance(grace.agentMs - 1);
  expect(late.isOver).toBe(false);
  await environment.advance(1);
  expect(late.isOver).toBe(true);
  const over = watched(grace.waitForDeadline(NEVER));
  await environment.advance(10_000 - grace.agentMs);
  expect(over.isOver).toBe(true);
});
