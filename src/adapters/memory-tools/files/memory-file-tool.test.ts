// Anthropic's memory tool over real stores: the texts of its documentation, paths that lead out of the directory, and writers at
// the same time.
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { expect, test } from "vitest";
import { describeOnEachStore } from "../../../../test/tool-stores.ts";
import { LIMITS } from "../../../contracts/limits.ts";
import { toolSchemas } from "../../../runs/tool-schemas.ts";
import { anthropicMemoryTool, memoryCommands } from "./memory-file-tool.ts";

const HEAD = "files and directories up to 2 levels deep in";
const TAIL = "excluding hidden items and node_modules:";
const AGAIN = { again: true };

describeOnEachStore("memory files", (store) => {
  const toolOf = (agent: string, namespace?: string) =>
    anthropicMemoryTool(store().hf, { agent, ...(namespace === undefined ? {} : { namespace }) });

  test("AT2 every command answers with the text of Anthropic's documentation", async () => {
    const tool = toolOf("texts");
    const notes = "/memories/notes.txt";
    const say = async (input: object, answer: string) => expect(await tool.execute(input)).toBe(answer);
    await say({ command: "view", path: "/memories" }, `Here're the ${HEAD} /memories, ${TAIL}\n0B\t/memories`);
    await say(
      { command: "create", path: notes, file_text: "one\ntwo\nthree" },
      `File created successfully at: ${notes}`,
    );
    await say({ command: "create", path: notes, file_text: "other" }, `Error: File ${notes} already exists`);
    const shown = `Here's the content of ${notes} with line numbers:`;
    await say({ command: "view", path: notes }, `${shown}\n     1\tone\n     2\ttwo\n     3\tthree`);
    await say({ command: "view", path: notes, view_range: [2, -1] }, `${shown}\n     2\ttwo\n     3\tthree`);
    await say(
      { command: "view", path: notes, view_range: [1, 99] },
      `${shown}\n     1\tone\n     2\ttwo\n     3\tthree`,
    );
    await say(
      { command: "view", path: "/memories/none" },
      "The path /memories/none does not exist. Please provide a valid path.",
    );
    await say(
      { command: "str_replace", path: notes, old_str: "two", new_str: "2" },
      "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" +
        "     1\tone\n     2\t2\n     3\tthree",
    );
    await say(
      { command: "str_replace", path: notes, old_str: "four", new_str: "4" },
      `No replacement was performed, old_str \`four\` did not appear verbatim in ${notes}.`,
    );
    await say(
      { command: "str_replace", path: notes, old_str: "e", new_str: "4" },
      `No replacement was performed. Multiple occurrences of old_str \`e\` in lines: 1, 3. Please ensure it is unique`,
    );
    await say(
      { command: "str_replace", path: "/memories/none", old_str: "e", new_str: "4" },
      "Error: The path /memories/none does not exist. Please provide a valid path.",
    );
    await say(
      { command: "insert", path: notes, insert_line: 0, insert_text: "zero\n" },
      `The file ${notes} has been edited.`,
    );
    await say(
      { command: "insert", path: notes, insert_line: 5, insert_text: "x" },
      "Error: Invalid `insert_line` parameter: 5. It should be within the range of lines of the file: [0, 4]",
    );
    await say(
      { command: "insert", path: "/memories/none", insert_line: 0, insert_text: "x" },
      "Error: The path /memories/none does not exist",
    );
    await say({ command: "view", path: notes, view_range: [1, 2] }, `${shown}\n     1\tzero\n     2\tone`);
    await say(
      { command: "rename", old_path: notes, new_path: "/memories/a/b/n.txt" },
      `Successfully renamed ${notes} to /memories/a/b/n.txt`,
    );
    await say(
      { command: "rename", old_path: notes, new_path: "/memories/x" },
      `Error: The path ${notes} does not exist`,
    );
    await say(
      { command: "create", path: "/memories/c.txt", file_text: "" },
      "File created successfully at: /memories/c.txt",
    );
    await say(
      { command: "rename", old_path: "/memories/c.txt", new_path: "/memories/a" },
      "Error: The destination /memories/a already exists",
    );
    await say({ command: "delete", path: "/memories/a" }, "Successfully deleted /memories/a");
    await say({ command: "delete", path: "/memories/a" }, "Error: The path /memories/a does not exist");
    await say(
      { command: "view", path: "/memories" },
      `Here're the ${HEAD} /memories, ${TAIL}\n0B\t/memories\n0B\t/memories/c.txt`,
    );
  });

  test("AT2 a directory is listed two levels deep, with the bytes of all that is in it, and without what is hidden", async () => {
    const tool = toolOf("lists");
    const files = { "b.txt": 10, "a/x": 1536, "a/deep/er/y": 512, ".secret": 1, "node_modules/z": 1, "a-b": 1 };
    for (const [name, bytes] of Object.entries(files)) {
      await tool.execute({ command: "create", path: `/memories/${name}`, file_text: "x".repeat(bytes) });
    }
    const head = (path: string) => `Here're the ${HEAD} ${path}, ${TAIL}`;
    expect(await tool.execute({ command: "view", path: "/memories/" })).toBe(
      [
        head("/memories"),
        "2.0K\t/memories",
        "2.0K\t/memories/a/",
        "512B\t/memories/a/deep/",
        "1.5K\t/memories/a/x",
        "1B\t/memories/a-b",
        "10B\t/memories/b.txt",
      ].join("\n"),
    );
    expect(await tool.execute({ command: "view", path: "/memories/a/deep" })).toBe(
      [
        head("/memories/a/deep"),
        "512B\t/memories/a/deep",
        "512B\t/memories/a/deep/er/",
        "512B\t/memories/a/deep/er/y",
      ].join("\n"),
    );
  });

  test("AT2 paths outside of /memories, and whatever could become one elsewhere, are refused", async () => {
    const tool = toolOf("paths");
    const outside = ["/etc/passwd", "memories/x", "/memoriesx", "", "/", "~/x", "/Memories/x", "file:///memories/x"];
    const escaping = [
      "/memories/../x",
      "/memories/..",
      "/memories/a/../../x",
      "/memories/./x",
      "/memories/%2e%2e/x",
      "/memories/%2E%2E%2Fx",
      "/memories/%252e%252e%252fx",
      "/memories/..\\x",
      "/memories/%5c..%5cx",
    ];
    const strange = [
      "/memories//x",
      "/memories/a\\b",
      "/memories/a\0b",
      "/memories/a\nb",
      "/memories/\ud800",
      7,
      null,
      {},
    ];
    for (const path of [...outside, ...escaping, ...strange]) {
      for (const input of [
        { command: "view", path },
        { command: "create", path, file_text: "x" },
        { command: "str_replace", path, old_str: "x", new_str: "y" },
        { command: "insert", path, insert_line: 0, insert_text: "x" },
        { command: "delete", path },
        { command: "rename", old_path: path, new_path: "/memories/ok" },
        { command: "rename", old_path: "/memories/ok", new_path: path },
      ]) {
        expect(await tool.execute(input), JSON.stringify(input)).toMatch(/^Error: /);
      }
    }
    const root = { path: "/memories", old_path: "/memories", new_path: "/memories/x" };
    for (const command of ["delete", "rename"])
      expect(await tool.execute({ command, ...root })).toMatch(/^Error: Cannot/);
    expect(await tool.execute({ command: "view", path: "/memories" })).toMatch(/\n0B\t\/memories$/);
  });

  test("AT2 a mistake of the model is a text that it can read, and changes nothing", async () => {
    const tool = toolOf("mistakes");
    await tool.execute({ command: "create", path: "/memories/a", file_text: "x" });
    const inputs: readonly unknown[] = [
      null,
      "view",
      [],
      {},
      { command: "format", path: "/memories" },
      { command: "create", path: "/memories/b" },
      { command: "create", path: "/memories/b", file_text: "\ud800" },
      { command: "create", path: "/memories/b", file_text: "x".repeat(LIMITS.memoryFileBytes + 1) },
      { command: "create", path: "/memories/a/b", file_text: "x" },
      { command: "create", path: `/memories/${"n".repeat(LIMITS.idBytes)}`, file_text: "x" },
      { command: "insert", path: "/memories/a", insert_line: 0.5, insert_text: "x" },
      { command: "insert", path: "/memories/a", insert_line: "0", insert_text: "x" },
      { command: "view", path: "/memories/a", view_range: [1] },
      { command: "view", path: "/memories/a", view_range: [2, 1] },
      { command: "rename", old_path: "/memories/a", new_path: "/memories/a/b" },
      { command: "str_replace", path: "/memories/a" },
    ];
    for (const input of inputs) expect(await tool.execute(input)).toMatch(/^Error: /);
    expect(await tool.execute({ command: "view", path: "/memories" })).toMatch(/\n1B\t\/memories\n1B\t\/memories\/a$/);
  });

  test("AT2 the number of files is limited, and a full directory can still be edited and emptied", async () => {
    const tool = toolOf("full");
    const owner = store().hf;
    await tool.execute({ command: "create", path: "/memories/0", file_text: "x" });
    const [session] = (await owner.sessions.list({ tag: "memories/default/full" })).items;
    const rest = Array.from({ length: LIMITS.memoryFiles - 1 }, (_, i) => [`/memories/${i + 1}`, "x"]);
    await owner.state.patch(session?.id ?? "", Object.fromEntries(rest));
    expect(await tool.execute({ command: "create", path: "/memories/more", file_text: "x" })).toMatch(
      /^Error: .*memoryFiles/,
    );
    const replaced = await tool.execute({ command: "str_replace", path: "/memories/7", old_str: "x", new_str: "y" });
    expect(replaced).toContain("1\ty");
    expect(await tool.execute({ command: "delete", path: "/memories/7" })).toBe("Successfully deleted /memories/7");
    expect(await tool.execute({ command: "create", path: "/memories/more", file_text: "x" })).toMatch(/^File created/);
  });

  test("AT2 each agent of each namespace has its own files, whatever its name is", async () => {
    const owners = [
      ["own", undefined],
      ["own", "other"],
      ["b", "a/own"],
      ["a/own", "b"],
      ["x@hd-1234", "%2F"],
      ["Ж".repeat(256), "Ж".repeat(256)],
      ["Ж".repeat(256), "Ж".repeat(255)],
    ] as const;
    for (const [i, [agent, namespace]] of owners.entries()) {
      const made = await toolOf(agent, namespace).execute({
        command: "create",
        path: "/memories/f",
        file_text: `of ${i}`,
      });
      expect(made).toBe("File created successfully at: /memories/f");
    }
    for (const [i, [agent, namespace]] of owners.entries()) {
      expect(await toolOf(agent, namespace).execute({ command: "view", path: "/memories/f" })).toMatch(
        new RegExp(`\tof ${i}$`),
      );
    }
    expect(() => toolOf("")).toThrow(expect.objectContaining({ code: "InvalidId" }));
  });

  test("AT2 edits of several writers at once lose nothing, also when they create the directory", async () => {
    const handles = [store().hf, await store().another(), await store().another()];
    const tools = handles.map((hf) => anthropicMemoryTool(hf, { agent: "writers" }));
    const names = Array.from({ length: 12 }, (_, i) => i);
    await Promise.all(
      names.map((i) => tools[i % 3]?.execute({ command: "create", path: `/memories/${i}`, file_text: `${i}` })),
    );
    await Promise.all(
      names.map((i) =>
        tools[i % 3]?.execute({ command: "insert", path: "/memories/0", insert_line: 0, insert_text: `<${i}>` }),
      ),
    );
    const listed = await tools[0]?.execute({ command: "view", path: "/memories" });
    expect(listed?.split("\n")).toHaveLength(2 + names.length);
    const text = await tools[1]?.execute({ command: "view", path: "/memories/0" });
    for (const i of names) expect(text).toContain(`<${i}>`);
    expect((await store().hf.sessions.list({ tag: "memories/default/writers" })).items).toHaveLength(1);
  });

  test("AT2 every edit leaves a head that shows the files as they were, and a rewind brings them back", async () => {
    const { hf } = store();
    const tool = toolOf("versions");
    await tool.execute({ command: "create", path: "/memories/a", file_text: "first" });
    await tool.execute({ command: "str_replace", path: "/memories/a", old_str: "first", new_str: "second" });
    await tool.execute({ command: "delete", path: "/memories/a" });
    const session = "memories/default/versions";
    const heads = (await hf.heads.list(session)).items;
    expect(heads.map(({ finalSummary }) => finalSummary)).toEqual([
      "delete /memories/a",
      "str_replace /memories/a",
      "create /memories/a",
    ]);
    const states = heads.map(async ({ id }) => (await hf.sessions.at({ session, head: id })).state());
    expect(await Promise.all(states)).toEqual([{}, { "/memories/a": "second" }, { "/memories/a": "first" }]);
    await hf.sessions.rewind({ session, head: heads[1]?.id ?? "" });
    expect(await tool.execute({ command: "view", path: "/memories/a" })).toMatch(/\tsecond$/);
    // A fork has the same files, and its edits are its own.
    await hf.sessions.fork(session, { id: "versions-fork" });
    await hf.state.patch("versions-fork", { "/memories/a": "forked" });
    expect(await tool.execute({ command: "view", path: "/memories/a" })).toMatch(/\tsecond$/);
    expect((await hf.check()).issues).toEqual([]);
  });

  test("AT2 deleting the session erases the files, and the agent can begin again", async () => {
    const { hf } = store();
    const tool = toolOf("erased");
    for (const text of ["one", "two", "three"]) {
      expect(await tool.execute({ command: "create", path: "/memories/a", file_text: text })).toMatch(/^File created/);
      expect(await tool.execute({ command: "view", path: "/memories/a" })).toMatch(new RegExp(`\t${text}$`));
      const [session] = (await hf.sessions.list({ tag: "memories/default/erased" })).items;
      await hf.sessions.delete(session?.id ?? "");
      expect(await tool.execute({ command: "view", path: "/memories" })).toMatch(/\n0B\t\/memories$/);
    }
  });

  test("AT2 a session that only has the tag or the id of a directory is none, and is left alone", async () => {
    const { hf } = store();
    const tool = toolOf("tagged");
    const name = "memories/default/tagged";
    await hf.sessions.create({ id: "notes", tags: [name], metadata: { agent: "other" } });
    await hf.state.patch({ session: "notes" }, { "/memories/mine": "mine" });
    await hf.sessions.create({ id: name, title: "mine too" });
    expect(await tool.execute({ command: "view", path: "/memories" })).toMatch(/\n0B\t\/memories$/);
    expect(await tool.execute({ command: "create", path: "/memories/a", file_text: "one" })).toMatch(/^File created/);
    expect(await tool.execute({ command: "view", path: "/memories/a" })).toMatch(/\tone$/);
    expect(await hf.state.get({ session: "notes" })).toEqual({ "/memories/mine": "mine" });
    expect((await hf.sessions.list({ tag: name })).items.map(({ id }) => id)).toEqual([`${name}#2`, "notes"]);
    expect(await hf.state.get({ session: name })).toEqual({});
  });

  test("AT3 a command that is executed again after an unknown outcome changes nothing twice", async () => {
    const tool = toolOf("again");
    const commands = [
      { command: "create", path: "/memories/a", file_text: "a dog\nb\n" },
      { command: "str_replace", path: "/memories/a", old_str: "dog", new_str: "big dog" },
      { command: "insert", path: "/memories/a", insert_line: 1, insert_text: "b" },
      { command: "rename", old_path: "/memories/a", new_path: "/memories/c" },
      { command: "delete", path: "/memories/c" },
    ];
    for (const command of commands) {
      const first = await tool.execute(command);
      const heads = await store().hf.heads.list("memories/default/again");
      expect(await tool.execute(command, AGAIN)).toBe(first);
      expect(await store().hf.heads.list("memories/default/again")).toEqual(heads);
    }
    // What did not happen the first time happens now.
    expect(await tool.execute(commands[0], AGAIN)).toMatch(/^File created/);
    expect(await tool.execute(commands[1], AGAIN)).toContain("1\ta big dog");
    expect(await tool.execute(commands[2], AGAIN)).toMatch(/edited/);
  });
});

describeOnEachStore("memory files in other programs", (store) => {
  test("AT2 the handlers fit betaMemoryTool() of Anthropic's SDK, and other models get a schema", async () => {
    const tool = anthropicMemoryTool(store().hf, { agent: "sdk" });
    const runnable = betaMemoryTool(memoryCommands(tool));
    expect(runnable.name).toBe(tool.name);
    const command = { command: "create", path: "/memories/a", file_text: "x" } as const;
    expect(await runnable.run(command)).toBe("File created successfully at: /memories/a");
    const [described] = toolSchemas({ [tool.name]: tool }, "anthropic");
    expect(described?.input_schema.required).toEqual(["command"]);
    expect(described?.input_schema.properties).toMatchObject({ command: { enum: Object.keys(memoryCommands(tool)) } });
  });
});
