// A snapshot of the index gives what the naive index gives for the same messages.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type OpenedStore, openOn } from "../../../test/engines.ts";
import { indexFacts } from "../../../test/index-facts.ts";
import type { Message } from "../../contracts/messages.ts";
import { realEnvironment } from "../../core/environment.ts";
import { createPayloads } from "../../storage/blobs/payloads.ts";
import { SqlStorage } from "../../storage/sql/store.ts";
import { MESSAGE_FIELDS, messageItem, messageText } from "./message-item.ts";
import { createNaiveIndex } from "./naive-index.ts";
import { fieldTerm } from "./reader.ts";
import { openIndexSnapshot } from "./snapshot.ts";

describe.each(ENGINES)("the index of messages on $name", (engine) => {
  let opened: OpenedStore;
  beforeAll(async () => {
    opened = await openOn(engine);
  });
  afterAll(() => opened.close());

  test("TI1 has each live message of each session, also a long one and one of blocks", async () => {
    const { hf, ground } = opened;
    const storage = new SqlStorage(ground.driver, realEnvironment());
    const written: Message[] = [];
    for (const session of ["a", "b"]) {
      for (const content of ["The cats sat on the mat", "x ".repeat(3000), "paths like src/open.ts and camelCase"]) {
        written.push(await hf.history.append({ session, agent: "agent" }, { role: "user", content }));
      }
      written.push(
        await hf.history.append(
          { session, agent: "helper" },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "secretly" },
              { type: "tool_use", id: "1", name: "read_file", input: { path: "README.md", lines: [1, 2] } },
            ],
          },
        ),
      );
    }
    const numbers = new Map<string, number>();
    for (const id of ["a", "b"]) {
      const [row] = await storage.query("session.get", { id });
      numbers.set(id, row?.no ?? 0);
    }
    const items = written.map((one) => messageItem(numbers.get(one.session) ?? 0, one, "english"));
    const terms = [
      "cat",
      "src",
      "camelcas",
      "readm",
      "secretli",
      "x",
      fieldTerm(MESSAGE_FIELDS.agent, "helper"),
      "nowhere",
    ];
    const snapshot = await openIndexSnapshot(storage, "messages", {
      payloads: createPayloads(storage),
      language: "english",
    });
    expect(await indexFacts(snapshot, terms)).toEqual(
      await indexFacts(createNaiveIndex("messages", items, "english"), terms),
    );
    expect(snapshot.itemCount).toBe(8);
    expect(messageText(written[3]?.content ?? [])).toBe("read_file\npath: README.md\nlines: 1\nlines: 2");
  });
});
