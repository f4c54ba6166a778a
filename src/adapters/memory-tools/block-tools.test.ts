// The tools for core blocks on real stores, alone and in a tool loop.
import { expect, test } from "vitest";
import { describeOnEachStore } from "../../../test/tool-stores.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { type ChatFunction, toolLoop } from "../../index.ts";
import { memoryTools } from "./memory-tools.ts";

const AGAIN = { again: true };

describeOnEachStore("block tools", (store) => {
  const prepare = async (agent: string, value = "") => {
    const { agents } = store().hf;
    await agents.saveBlocks(agent, [
      { label: "human", value, limit: 40 },
      { label: "law", value: "no", readOnly: true },
    ]);
    const read = async () => (await agents.getBlock(agent, "human"))?.value;
    return { tools: memoryTools(store().hf, { agent }), agents, read };
  };

  test("AT1 each tool edits the block, says what it is now, and leaves a version", async () => {
    const { tools, agents, read } = await prepare("edits");
    const answer = await tools.core_memory_append.execute({ label: "human", content: "likes tea" });
    expect(answer).toBe('The block "human" is edited: version 2, 9 of 40 characters.');
    await tools.core_memory_append.execute({ label: "human", content: "is 30" });
    expect(await read()).toBe("likes tea\nis 30");
    await tools.core_memory_replace.execute({ label: "human", old_content: "tea", new_content: "$& 🍵" });
    expect(await read()).toBe("likes $& 🍵\nis 30");
    await tools.memory_insert.execute({ label: "human", new_string: "Ann", insert_line: 0 });
    await tools.memory_insert.execute({ label: "human", new_string: "end" });
    expect(await read()).toBe("Ann\nlikes $& 🍵\nis 30\nend");
    await tools.memory_replace.execute({ label: "human", old_string: "\nend", new_string: "" });
    expect(await read()).toBe("Ann\nlikes $& 🍵\nis 30");
    await tools.memory_rethink.execute({ label: "human", new_memory: "Ann, 30" });
    expect(await read()).toBe("Ann, 30");
    const versions = (await agents.blockVersions("edits", "human")).items;
    expect(versions.map(({ version }) => version)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  });

  test("AT1 fields have the names of other generations of these tools too, and unknown fields are ignored", async () => {
    const { tools, read } = await prepare("names");
    await tools.core_memory_append.execute({ name: "human", content: "a b", request_heartbeat: true });
    await tools.memory_replace.execute({ label: "human", old_str: "a", new_str: "c", inner_thoughts: "…" });
    await tools.memory_insert.execute({ label: "human", new_str: "d", insert_line: null });
    expect(await read()).toBe("c b\nd");
  });

  test("AT1 a mistake of the model is an error that says what to do, and changes nothing", async () => {
    const { tools, agents } = await prepare("mistakes", "one one");
    const before = await agents.loadBlocks("mistakes");
    const mistakes: readonly [keyof typeof tools, unknown, string, RegExp][] = [
      ["core_memory_append", { label: "none", content: "x" }, "NotFound", /The blocks are: human, law/],
      ["core_memory_append", { label: "human", content: "x".repeat(40) }, "LimitExceeded", /its limit is 40/],
      ["core_memory_append", { label: "law", content: "x" }, "ReadOnly", /read-only/],
      ["core_memory_append", { label: "human" }, "InvalidArgument", /content must be given/],
      ["core_memory_append", { label: "human", content: 7 }, "InvalidArgument", /content/],
      ["core_memory_append", { label: "human", content: "\ud800" }, "InvalidText", /content/],
      ["core_memory_append", { label: "", content: "x" }, "InvalidId", /label/],
      ["core_memory_append", "x", "InvalidArgument", /an object/],
      ["memory_replace", { label: "human", old_string: "two", new_string: "x" }, "InvalidArgument", /does not occur/],
      ["memory_replace", { label: "human", old_string: "one", new_string: "x" }, "InvalidArgument", /in the lines 1;/],
      ["memory_replace", { label: "human", old_string: "", new_string: "x" }, "InvalidArgument", /does not occur/],
      ["memory_insert", { label: "human", new_string: "x", insert_line: 2 }, "InvalidArgument", /from 0 to 1/],
      ["memory_insert", { label: "human", new_string: "x", insert_line: -2 }, "InvalidArgument", /insert_line/],
      ["memory_rethink", { label: "human", new_memory: "x".repeat(LIMITS.messageBytes + 1) }, "LimitExceeded", /bytes/],
    ];
    for (const [name, input, code, message] of mistakes) {
      await expect(tools[name].execute(input), name).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    }
    expect(await agents.loadBlocks("mistakes")).toEqual(before);
  });

  test("AT1 edits of several writers at once lose nothing", async () => {
    const handles = [store().hf, await store().another()];
    await store().hf.agents.saveBlocks("writers", [{ label: "human" }]);
    const numbers = Array.from({ length: 16 }, (_, i) => i);
    await Promise.all(
      numbers.map((i) => {
        const tools = memoryTools(handles[i % 2] ?? store().hf, { agent: "writers" });
        if (i % 4 < 2) return tools.core_memory_append.execute({ label: "human", content: `<${i}>` });
        return tools.memory_insert.execute({ label: "human", new_string: `<${i}>`, insert_line: 0 });
      }),
    );
    const block = await store().hf.agents.getBlock("writers", "human");
    for (const i of numbers) expect(block?.value).toContain(`<${i}>`);
    expect(block?.version).toBe(numbers.length + 1);
  });

  test("AT3 a tool that is executed again after an unknown outcome changes nothing twice", async () => {
    const { tools, read, agents } = await prepare("again", "a dog");
    const calls: readonly [keyof typeof tools, object][] = [
      ["core_memory_append", { label: "human", content: "x" }],
      ["core_memory_replace", { label: "human", old_content: "dog", new_content: "big dog" }],
      ["memory_insert", { label: "human", new_string: "top", insert_line: 0 }],
      ["memory_insert", { label: "human", new_string: "end", insert_line: -1 }],
      ["memory_replace", { label: "human", old_string: "big ", new_string: "" }],
      ["memory_rethink", { label: "human", new_memory: "all new" }],
    ];
    for (const [name, input] of calls) {
      const first = await tools[name].execute(input);
      const before = await agents.loadBlocks("again");
      expect(await tools[name].execute(input, AGAIN)).toBe(first);
      expect(await agents.loadBlocks("again")).toEqual(before);
    }
    expect(await read()).toBe("all new");
    await tools.core_memory_append.execute({ label: "human", content: "x" }, AGAIN);
    expect(await read(), "what did not happen the first time happens now").toBe("all new\nx");
  });

  test("AT1 a tool loop uses the tools as they are, and its model reads mistakes", async () => {
    const { tools, read } = await prepare("looped");
    const inputs = [
      { label: "nobody", content: "x" },
      { label: "human", content: "likes tea" },
    ];
    const model: ChatFunction = ({ messages }) => {
      const input = inputs[messages.filter(({ role }) => role === "tool").length];
      if (input === undefined) return "Noted.";
      const id = `call-${messages.length}`;
      return { content: [{ type: "tool_use", id, name: "core_memory_append", input }], finish: "tools" };
    };
    const agent = toolLoop({ id: "looped", version: "1", model, tools });
    const run = await store().hf.runs.execute(agent, { session: "looped", input: "I like tea." });
    expect(run.value).toMatchObject({ text: "Noted." });
    expect(await read()).toBe("likes tea");
    const results = (await store().hf.history.session("looped")).filter(({ role }) => role === "tool");
    expect(JSON.stringify(results[0]?.content)).toContain("The blocks are: human, law");
    const steps = (await store().hf.runs.steps(run.run.id)).filter(({ kind }) => kind === "tool");
    expect(steps.map(({ idempotent }) => idempotent)).toEqual([true, true]);
  });
});
