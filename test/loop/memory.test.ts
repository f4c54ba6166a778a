// What a tool loop tells its model besides the conversation: the agent's core blocks, and memories that match the run's input.
import { describe, expect, test } from "vitest";
import { memoryTools } from "../../src/adapters/memory-tools/entry.ts";
import { toolLoop } from "../../src/index.ts";
import { ENGINES } from "../engines.ts";
import { scripted, use, withStore } from "./scripted-model.ts";

const base = { id: "assistant", version: "1" } as const;

describe.each(ENGINES)("memory of the tool loop on $name", (engine) => {
  test("RU18 each call has the blocks as they are now, and the memories that match the input", () =>
    withStore(engine, async (hf) => {
      await hf.agents.saveBlocks("assistant", [{ label: "human", value: "Called Ada", limit: 200 }]);
      await hf.memory.save("Ada drinks green tea", { agent: "assistant" });
      await hf.memory.save("Bo drinks green tea", { agent: "other" });
      await hf.memory.save("The kettle is red", { agent: "assistant" });
      const model = scripted([use("t1", "core_memory_append", { label: "human", content: "Likes brevity" })], "ok");
      const tools = memoryTools(hf, { agent: "assistant" });
      const loop = toolLoop({ ...base, model, tools, system: "Be kind.", blocks: true, memory: true });
      // No word of it is a phrase, a filter or an exclusion.
      const input = 'And "what tea" -drinks Ada?';
      const { value } = await hf.runs.execute(loop, { session: "s", input });
      expect(value).toEqual({ text: "ok", finish: "stop" });
      const [first = "", second = ""] = model.requests.map(({ system }) => system);
      expect(first).toMatch(
        /^Be kind\.\n\nYour core memory, in blocks:\n<block label="human">\nCalled Ada\n<\/block>\n\n/,
      );
      expect(first.match(/^> .*$/gm)).toEqual(["> Ada drinks green tea"]);
      expect(second).toBe(first.replace("Called Ada", "Called Ada\nLikes brevity"));
      expect(model.requests.every(({ messages }) => messages.length > 0)).toBe(true);
    }));

  test("RU18 the budget covers blocks and memories; without words in the input, or unless asked for, there are none", () =>
    withStore(engine, async (hf) => {
      await hf.agents.saveBlocks("assistant", [{ label: "human", value: "Called Ada" }]);
      await hf.memory.save("Tea: green", { agent: "assistant", namespace: "home" });
      const model = scripted("ok");
      const say = async (options: Partial<Parameters<typeof toolLoop>[0]>, input: string) => {
        await hf.runs.execute(toolLoop({ ...base, ...options, model }), { session: "s", input });
        return model.requests.at(-1);
      };
      expect((await say({ system: "Be kind." }, "tea"))?.system).toBe("Be kind.");
      expect((await say({ memory: { namespace: "home" } }, "tea?"))?.system).toContain("> Tea: green");
      expect((await say({ memory: true }, "tea?"))?.system).toBeUndefined();
      expect((await say({ memory: { namespace: "home" } }, "?!"))?.system).toBeUndefined();
      const tokenizer = () => 1;
      const all = await say({ tokenizer, contextTokens: 4 }, "last");
      const fewer = await say({ tokenizer, contextTokens: 4, blocks: true }, "last");
      expect([all?.messages.length, fewer?.messages.length]).toEqual([4, 3]);
      expect(() => toolLoop({ ...base, model, memory: { query: "tea" } as object })).toThrow(/query/);
    }));

  test("RU18 an input of very many single letters, also of scripts without spaces, finds memories by the last ones", () =>
    withStore(engine, async (hf) => {
      await hf.memory.save("日 is the sun", { agent: "assistant" });
      const model = scripted("ok", "ok", "ok");
      const loop = toolLoop({ ...base, model, memory: true });
      const lists = [
        ["人大小山川火水木金土月年时分上下左右中前后东西南北春夏秋冬天地风雨日", "、"],
        ["กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ日", "'s "],
        ["ｱｲｳｴｵｶｷｸｹｺｻｼｽｾｿﾀﾁﾂﾃﾄﾅﾆﾇﾈﾉﾊﾋﾌﾍﾎﾏﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝ日", " "],
      ] as const;
      for (const [letters, separator] of lists) {
        const input = [...letters].join(separator);
        expect((await hf.runs.execute(loop, { session: "s", input })).run.status).toBe("completed");
        expect(model.requests.at(-1)?.system, input).toContain("日 is the sun");
      }
    }));
});
