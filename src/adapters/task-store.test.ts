// A board of the storage contracts, driven through its whole lifecycle on a real store.
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { taskStore } from "./task-store.ts";

test("TA6 the TaskStore of the storage contracts drives a board from its creation to an abandoned task and back", async () => {
  await using hf = await open(":memory:");
  const store = taskStore(hf);
  const root = await store.createTaskList("trip", ["find flights", "book hotel"]);
  const facts = { conversationId: "trip", agentId: "", agentLabel: "", parentAgentId: null, maxRetries: 3 };
  expect(root).toMatchObject(facts);
  expect(root.tasks.map(({ title, status, order }) => [title, status, order])).toEqual([
    ["find flights", "planned", 0],
    ["book hotel", "planned", 1],
  ]);
  const options = { agentId: "buyer", agentLabel: "Buyer", parentAgentId: "", maxRetries: 1 };
  const sub = await store.createTaskList("trip", ["compare prices"], options);
  expect(sub).toMatchObject({ conversationId: "trip", ...options });
  await expect(store.createTaskList("trip", [], { agentId: "buyer", ifAbsent: true })).rejects.toMatchObject({
    code: "AlreadyExists",
  });
  expect(await store.getTaskList(sub.id)).toEqual(sub);
  expect(await store.getTaskList("none")).toBeNull();
  expect(await store.getByConversation("trip")).toEqual(root);
  expect(await store.getByConversation("none")).toBeNull();
  expect(await store.getBoardsByConversation("trip")).toEqual([root, sub]);

  const [flights = "", hotel = ""] = root.tasks.map(({ id }) => id);
  const claimed = await store.updateStatus(root.id, flights, "in_progress", "mine", { from: "planned" });
  expect(claimed).toMatchObject({ status: "in_progress", note: "mine" });
  expect(await store.updateStatus(root.id, flights, "succeeded")).toMatchObject({ status: "succeeded", note: "mine" });
  await expect(store.updateStatus(root.id, flights, "planned")).rejects.toMatchObject({ code: "InvalidTransition" });
  const [pack] = await store.addTasks(root.id, ["pack"]);
  expect(pack).toMatchObject({ title: "pack", order: 2 });
  expect(await store.updateTaskTitle(root.id, hotel, "book a hotel")).toMatchObject({ title: "book a hotel" });
  expect(await store.deleteTask(root.id, pack?.id ?? "")).toBe(true);
  expect(await store.deleteTask(root.id, pack?.id ?? "")).toBe(false);

  const [prices = ""] = sub.tasks.map(({ id }) => id);
  await store.updateStatus(sub.id, prices, "failed", "sold out");
  expect(await store.incrementRetry(sub.id, prices)).toMatchObject({ status: "in_progress", retryCount: 1 });
  await store.updateStatus(sub.id, prices, "failed");
  expect(await store.incrementRetry(sub.id, prices)).toBeNull();
  await store.updateStatus(sub.id, prices, "abandoned");
  const revived = { status: "in_progress", retryCount: 0, note: "" };
  expect(await store.forceRetry(sub.id, prices)).toMatchObject(revived);
  await store.updateStatus(root.id, hotel, "in_progress");
  expect(await store.settle("trip", "planned", { agentId: "buyer" })).toBe(1);
  expect(await store.settle("trip", "failed")).toBe(1);

  // The same boards, in the names of hf.tasks.
  const boards = await hf.tasks.boards("trip");
  expect(boards.map(({ session, agent, label, parent }) => [session, agent, label, parent])).toEqual([
    ["trip", "", "", null],
    ["trip", "buyer", "Buyer", ""],
  ]);
  expect(boards.map(({ tasks }) => tasks.map(({ status }) => status))).toEqual([["succeeded", "failed"], ["planned"]]);
});
