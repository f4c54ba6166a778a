// The LongTermMemory of the storage contracts, on a real store.
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { longTermMemory } from "./long-term-memory.ts";

test("ME14 the LongTermMemory of the storage contracts saves, finds and erases by agent and namespace", async () => {
  await using hf = await open(":memory:");
  const store = longTermMemory(hf);
  const id = await store.save("helper", "Ravi prefers Python", { metadata: { sure: true } });
  const other = await store.save("helper", "Ravi prefers Rust", { namespace: "work", ttlSeconds: 60 });
  expect(await store.save("helper", "ravi prefers python", { metadata: null, ttlSeconds: null })).toBe(id);
  const [hit, ...more] = await store.search("helper", "what does Ravi prefer?");
  expect([hit?.id, hit?.content, hit?.metadata, more]).toEqual([id, "Ravi prefers Python", { sure: true }, []]);
  expect(hit?.score).toBeGreaterThan(0);
  expect(hit?.score).toBeLessThanOrEqual(1);
  expect((await store.search("helper", "Ravi", { namespace: "work", limit: 1 })).map((one) => one.id)).toEqual([other]);
  expect(await store.search("another", "Ravi")).toEqual([]);
  expect(await store.search("helper", "")).toEqual([]);
  const content = "Ravi prefers Python";
  expect(await store.get("helper", id)).toEqual({ id, content, score: 1, metadata: { sure: true } });
  expect(await store.get("another", id)).toBeNull();
  expect(await store.get("helper", id, { namespace: "work" })).toBeNull();
  expect((await hf.memory.get(other, { agent: "helper", namespace: "work" }))?.expiresAt).not.toBeNull();
  expect(await store.delete("another", id)).toBe(false);
  expect(await store.delete("helper", id)).toBe(true);
  expect(await store.delete("helper", id)).toBe(false);
  await store.clear("helper", { namespace: "work" });
  const embedding = { pending: 0, parked: 0 };
  expect(await hf.memory.status()).toEqual({ scopes: 0, memories: 0, superseded: 0, expired: 0, embedding });
});

test("ME2 ME14 no option of a call names another agent", async () => {
  await using hf = await open(":memory:");
  const store = longTermMemory(hf);
  const id = await store.save("victim", "the victim's card");
  const options = JSON.parse('{"agent":"victim"}');
  const refused = { code: "InvalidArgument" };
  await expect(store.search("attacker", "card", options)).rejects.toMatchObject(refused);
  await expect(store.get("attacker", id, options)).rejects.toMatchObject(refused);
  await expect(store.delete("attacker", id, options)).rejects.toMatchObject(refused);
  await expect(store.clear("attacker", options)).rejects.toMatchObject(refused);
  await expect(store.save("attacker", "mine", JSON.parse(`{"supersedes":"${id}"}`))).rejects.toMatchObject(refused);
  expect((await store.get("victim", id))?.content).toBe("the victim's card");
});
