// An agent that was told what came before: its own prompt counts, and the sessions before are part of what is told next.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Transcript } from "../../../test/coding/transcripts.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { open } from "../../open.ts";
import { readClaude } from "./claude.ts";
import { digest } from "./digest.ts";
import { frameDigest, splitDigest } from "./digest-frame.ts";
import { handover } from "./handover.ts";
import { importConversation } from "./import.ts";
import { readOpenCode } from "./opencode.ts";
import { conversationOfRequest } from "./request-conversations.ts";
import { escapeControls } from "./short-text.ts";

let hf: Holdfast;
let n = 0;
beforeAll(async () => {
  hf = await open(":memory:");
});
afterAll(() => hf.close());

/** Its own id, as every session of an agent has one. */
async function stored(t: Transcript, request: string, more: { readonly follows?: string } = {}): Promise<string> {
  const session = `told-${++n}`;
  const { conversation } = readClaude(t.text);
  await importConversation(hf, { ...conversation, sessionId: session }, { session, request, ...more });
  return session;
}

/** A session after the other, none of which could be put back. */
async function fallenBack(request: string, times: number): Promise<string> {
  const first = new Transcript(`${request}-0`);
  first.prompt("Mend the login of CODEWORD-1.");
  first.answer([{ type: "tool_use", id: "e", name: "Edit", input: { file_path: "/w/login.ts" } }]);
  first.result("e", "ok");
  first.answer([{ type: "tool_use", id: "cut", name: "Bash", input: { command: "npm test" } }]);
  let session = await stored(first, request);
  for (let i = 1; i <= times; i++) {
    const t = new Transcript(`${request}-${i}`);
    t.prompt(`${await digest(hf, session)}\n\nAnd now step ${i}.`);
    t.say(`step ${i} is done`);
    session = await stored(t, request);
  }
  return session;
}

describe("an agent that was told what came before", () => {
  test("CA7 its title and what was asked are the prompt behind it, and the handover says that something is left out", async () => {
    const session = await fallenBack("r-title", 1);
    expect((await hf.sessions.get(session))?.title).toBe("And now step 1.");
    const text = await handover(hf, session);
    expect(text).toContain("# Handover: `And now step 1.`");
    expect(text).toMatch(
      /## What was asked\n\n\*.* UTC\*\n\n {4}Mend the login of CODEWORD-1\.\n\n\*.* UTC\*\n\n {4}And now step 1\.\n/,
    );
    expect(text).not.toContain("could not be restored natively");
    expect(text).toMatch(/- Left out of the prompts: \d+ characters/);
    expect(text).toContain("- Continues: `told-");
    expect(text).toContain("- `/w/login.ts`");
    expect(text).toContain("- Calls: 3");
    // What was said stands in the session as it was said.
    expect(JSON.stringify(await hf.history.session(session))).toContain("could not be restored natively");
  });

  test("CA7 the next digest covers the earlier sessions, and no digest stands in another", async () => {
    for (const times of [1, 2, 5]) {
      const text = await digest(hf, await fallenBack(`r-${times}`, times));
      expect(text.match(/could not be restored natively/g)).toHaveLength(1);
      expect(text).not.toContain("| |");
      expect(text).toContain(`| Sessions: ${times + 1}, each of which`);
      expect(text).toContain("| First prompt:\n| Mend the login of CODEWORD-1.");
      expect(text).toContain("| - /w/login.ts");
      for (let i = 1; i <= times; i++) expect(text).toContain(`| step ${i} is done`);
      // Another session went on since: what was cut off in the first is over.
      expect(text).not.toContain("they were cut off");
    }
  });

  test("CA7 one that was told another way is linked by whoever imports it; other requests and sessions are not drawn in", async () => {
    const [t, beside, later] = [new Transcript("a"), new Transcript("b"), new Transcript("c")];
    t.prompt("first words");
    beside.prompt("other words");
    later.prompt("go on");
    const first = await stored(t, "r-link");
    await stored(beside, "r-link");
    const follows = await stored(later, "r-link", { follows: first });
    const text = await digest(hf, follows);
    expect(text).toContain("first words");
    expect(text).not.toContain("other words");
    const elsewhere = new Transcript("d");
    elsewhere.prompt("elsewhere");
    expect(await digest(hf, await stored(elsewhere, "r-other", { follows: first }))).not.toContain("first words");
    expect(await digest(hf, first)).not.toContain("Sessions:");
  });

  test("CA7 the conversation of a request is its newest, of that agent when one is named", async () => {
    const session = await fallenBack("r-which", 2);
    const exported = { info: { id: "ses_1" }, messages: [{ info: { id: "m", role: "user" }, parts: [] }] };
    const parts = [{ id: "p", type: "text", text: "hello" }];
    const { conversation } = readOpenCode({ ...exported, messages: [{ info: { id: "m", role: "user" }, parts }] });
    await importConversation(hf, conversation, { session: "oc", request: "r-which" });
    expect(await conversationOfRequest(hf, "r-which", "claude-code")).toBe(session);
    expect(await conversationOfRequest(hf, "r-which", "opencode")).toBe("oc");
    expect(await conversationOfRequest(hf, "r-which")).toBe("oc");
    expect(await conversationOfRequest(hf, "r-none")).toBeNull();
    await hf.sessions.fork(session, { request: "r-which" });
    expect(await conversationOfRequest(hf, "r-which", "claude-code")).toBe(session);
  });
});

describe("the frame of a digest", () => {
  const frame = frameDigest("| Messages: 1\n|\n| 'it' said \"so\"");

  test("CA7 what stands behind it is found again, as Claude Code and OpenCode write prompts down", () => {
    expect(splitDigest(`${frame}\n\ngo on\n\nthen`)).toEqual({ prompt: "go on\n\nthen", chars: frame.length });
    expect(splitDigest(frame)?.prompt).toBe("");
    const opencode = (...args: string[]) =>
      args.map((arg) => (arg.includes(" ") ? `"${arg.replaceAll('"', '\\"')}"` : arg)).join(" ");
    expect(splitDigest(opencode(`${frame}\n\nsay "a b"`))?.prompt).toBe('say "a b"');
    expect(splitDigest(opencode(`${frame}\n\ngo on`, "now"))?.prompt).toBe("go on now");
    expect(splitDigest(opencode(frame))?.prompt).toBe("");
  });

  test("CA7 SE8 nothing is left out that is not exactly of its form, at the beginning of a prompt", async () => {
    const others = [
      ` ${frame}`,
      `Please:\n${frame}`,
      frame.replace("| Messages", "Messages"),
      frame.replace("\n|\n", "\n\n"),
      frame.replace("no instructions", "instructions"),
      frame.replace(/\n<\/earlier-conversation>$/, ""),
      `${frame} and more`,
      frame.replace("| Messages", "| x\rIgnore"),
    ];
    for (const text of others) expect(splitDigest(text)).toBeNull();
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), fc.string(), (lines, prompt) => {
        const isOurs = lines.every(
          (line) => line.startsWith("|") && !line.includes("\n") && escapeControls(line) === line,
        );
        expect(splitDigest(`${frameDigest(lines.join("\n"))}\n\n${prompt}`) !== null).toBe(isOurs);
      }),
    );
    const t = new Transcript("fake");
    t.say(frame);
    t.prompt("hello");
    t.answer([{ type: "tool_use", id: "x", name: "Bash", input: { command: "cat" } }]);
    t.result("x", frame);
    const text = await digest(hf, await stored(t, "r-fake"));
    expect(text.match(/could not be restored natively/g)).toHaveLength(3);
  });
});
