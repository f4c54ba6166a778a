// The suite of a SessionStore for the Claude Agent SDK over a Holdfast store: what the SDK asks of any such store, and
// what this one promises beyond. How one is made is handed in. Parts: transcripts here, listing and deleting in the
// file beside.
import assert from "node:assert/strict";
import { setImmediate as macrotask } from "node:timers/promises";
import type { Json } from "../../contracts/json.ts";
import type {
  ClaudeSessionStore,
  SessionKey,
  SessionStoreEntry,
  SessionStoreOptions,
  SessionsOf,
} from "../../contracts/session-store.ts";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { entryOf, KEY, type MakeSessionStore, NEEDS, uuid } from "./session-store-entries.ts";
import { sessionStoreListCases } from "./session-store-list.ts";

/** Of a thousand entries each. */
const BATCHES = scaled({ short: 5, long: 20 });

export function runSessionStoreSuite(
  name: string,
  make: MakeFixture,
  options: SuiteOptions & {
    readonly sessionStore: (over: SessionsOf, options?: SessionStoreOptions) => ClaudeSessionStore;
  },
): void {
  const over = options.sessionStore;
  const cases = [...transcriptCases(over), ...replayCases(over), ...hostileCases(over), ...sessionStoreListCases(over)];
  runCases(`session store: ${name}`, cases, make, options);
}

function transcriptCases(over: MakeSessionStore): readonly Case[] {
  return [
    prove("CA11 what was appended is loaded, in order and as it was", NEEDS, async (hf) => {
      const store = over(hf);
      const entries = [entryOf(1), { type: "mode", mode: "plan" }, entryOf(2)];
      await store.append(KEY, entries);
      assert.deepEqual(await store.load(KEY), entries);
    }),

    prove("CA11 a transcript that was never written is null", NEEDS, async (hf) => {
      assert.equal(await over(hf).load(KEY), null);
      await over(hf).append(KEY, [entryOf(1)]);
      assert.equal(await over(hf).load({ ...KEY, sessionId: "another" }), null);
      assert.equal(await over(hf).load({ ...KEY, subpath: "subagents/agent-1" }), null);
    }),

    prove("CA11 appending nothing writes nothing", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append(KEY, []);
      assert.equal(await store.load(KEY), null);
      assert.deepEqual(await store.listSessions(KEY.projectKey), []);
      assert.deepEqual((await hf.sessions.list()).items, []);
    }),

    prove("CA11 appends follow each other in the order of the calls, awaited or not", NEEDS, async (hf) => {
      const store = over(hf);
      await Promise.all(range(30).map((n) => store.append(KEY, [entryOf(2 * n), entryOf(2 * n + 1)])));
      assert.deepEqual(numbers(await store.load(KEY)), range(60));
    }),

    prove("CA11 an append that takes its time is not passed by the next", NEEDS, async (hf) => {
      let waits = true;
      const get: typeof hf.sessions.get = async (id) => {
        const isFirst = waits;
        waits = false;
        for (let i = 0; isFirst && i < 100; i++) await macrotask();
        return hf.sessions.get(id);
      };
      const store = over({ ...hf, sessions: { ...hf.sessions, get } });
      await Promise.all([store.append(KEY, [entryOf(1)]), store.append(KEY, [entryOf(2)])]);
      assert.deepEqual(numbers(await store.load(KEY)), [1, 2]);
    }),

    prove("CA11 a subpath has a transcript of its own", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append(KEY, [entryOf(1)]);
      await store.append({ ...KEY, subpath: "subagents/agent-1" }, [entryOf(1, "sub"), entryOf(2, "sub")]);
      assert.deepEqual(await store.load(KEY), [entryOf(1)]);
      const sub = await store.load({ ...KEY, subpath: "subagents/agent-1" });
      assert.deepEqual(sub, [entryOf(1, "sub"), entryOf(2, "sub")]);
    }),

    prove(
      "CA11 handles that append at once keep each batch together and lose nothing",
      [...NEEDS, "another"],
      async (hf) => {
        const handles = [over(hf), over(await hf.another()), over(await hf.another())];
        const batch = (handle: number, n: number) => range(5).map((i) => entryOf(handle * 1000 + n * 5 + i));
        await Promise.all(
          handles.map(async (store, handle) => {
            for (const n of range(20)) await store.append(KEY, batch(handle, n));
          }),
        );
        const found = numbers(await present(handles[0]).load(KEY));
        assert.equal(found.length, 300);
        for (const start of range(60)) {
          const first = present(found[start * 5]);
          assert.deepEqual(
            found.slice(start * 5, start * 5 + 5),
            range(5).map((i) => first + i),
            "a batch was torn",
          );
        }
        for (const handle of range(3)) {
          const own = found.filter((n) => Math.floor(n / 1000) === handle);
          assert.deepEqual(
            own,
            range(100).map((n) => handle * 1000 + n),
          );
        }
      },
    ),

    prove(`CA11 ${BATCHES * 1000} entries are loaded`, NEEDS, async (hf) => {
      const store = over(hf);
      // Few with a uuid: a new PostgreSQL schema, of which nothing is known to the planner yet, is slow to look keys
      // up.
      const entry = (n: number) => (n % 20 === 0 ? entryOf(n) : { type: "note", n });
      for (const batch of range(BATCHES))
        await store.append(
          KEY,
          Array.from(range(1000), (n) => entry(batch * 1000 + n)),
        );
      assert.deepEqual(numbers(await store.load(KEY)), range(BATCHES * 1000));
    }),

    prove("CA11 the conversation is a session like any other", [...NEEDS, "check"], async (hf) => {
      const store = over(hf, { request: "ticket-7" });
      const image = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
      const entries: SessionStoreEntry[] = [
        { type: "user", uuid: uuid(1), message: { role: "user", content: "look at it" } },
        { type: "user", uuid: uuid(2), message: { role: "user", content: [{ type: "image", source: image }] } },
        {
          type: "assistant",
          uuid: uuid(3),
          message: { content: [{ type: "thinking", thinking: "hm", signature: "s" }] },
        },
        { type: "assistant", uuid: uuid(4), message: { content: [toolUse] } },
        { type: "user", uuid: uuid(5), message: { content: [toolResult] }, toolUseResult: { stdout: "a\n" } },
        { type: "attachment", uuid: uuid(6), attachment: { type: "date" } },
      ];
      await store.append(KEY, entries);
      assert.deepEqual(await store.load(KEY), entries);
      const [session] = (await hf.sessions.list({ request: "ticket-7" })).items;
      assert.equal(session?.agent, "claude-code");
      assert.ok(session?.id.includes(KEY.sessionId), "the SDK's id is in ours");
      const messages = await hf.history.session(present(session).id);
      assert.deepEqual(
        messages.map(({ role, content }) => [role, content[0]?.type]),
        [
          ["user", "text"],
          ["user", "image"],
          ["assistant", "thinking"],
          ["assistant", "tool_use"],
          ["tool", "tool_result"],
          ["system", "opaque"],
        ],
      );
      assert.deepEqual(messages[0]?.content, [{ type: "text", text: "look at it" }]);
      assert.deepEqual(messages[4]?.content, [
        { type: "tool_result", toolUseId: "t1", content: "a\n", isError: false },
      ]);
      assert.deepEqual((await hf.check()).issues, []);
    }),

    prove("CA11 what others say in the session is not part of the transcript", NEEDS, async (hf) => {
      const store = over(hf);
      await store.append(KEY, [entryOf(1)]);
      const session = present((await hf.sessions.list()).items[0]).id;
      await hf.history.append({ session, agent: "claude-code" }, { role: "user", content: "a note" });
      await hf.history.append({ session, agent: "reviewer" }, { role: "user", content: "another" });
      await store.append(KEY, [entryOf(2)]);
      assert.deepEqual(await store.load(KEY), [entryOf(1), entryOf(2)]);
    }),
  ];
}

const toolUse = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } };
const toolResult = { type: "tool_result", tool_use_id: "t1", content: "a\n", is_error: false };

function numbers(entries: readonly SessionStoreEntry[] | null): readonly number[] {
  return present(entries).map(({ n }) => Number(n));
}

function replayCases(over: MakeSessionStore): readonly Case[] {
  return [
    prove("CA11 a batch that comes again adds nothing, but for entries without a uuid", NEEDS, async (hf) => {
      const store = over(hf);
      const batch = [entryOf(1), entryOf(2), entryOf(3)];
      await store.append(KEY, batch);
      await store.append(KEY, batch);
      await over(hf).append(KEY, [entryOf(3), entryOf(4), entryOf(4)]);
      assert.deepEqual(numbers(await store.load(KEY)), [1, 2, 3, 4]);
      const title = { type: "custom-title", title: "t" };
      await store.append(KEY, [title]);
      await store.append(KEY, [title, entryOf(4)]);
      assert.deepEqual((await store.load(KEY))?.slice(4), [title, title]);
    }),

    prove(
      "CA11 of an entry that comes again with other words the first stays, and the rest of its batch is kept",
      NEEDS,
      async (hf) => {
        const store = over(hf);
        await store.append(KEY, [entryOf(1), entryOf(2)]);
        await store.append(KEY, [entryOf(3), entryOf(2, "otherwise"), entryOf(1, "otherwise"), entryOf(4)]);
        assert.deepEqual(await store.load(KEY), [entryOf(1), entryOf(2), entryOf(3), entryOf(4)]);
      },
    ),

    prove("CA11 a uuid counts within one transcript", NEEDS, async (hf) => {
      const store = over(hf);
      const places = [KEY, { ...KEY, sessionId: "fork" }, { ...KEY, subpath: "a" }, { ...KEY, projectKey: "-other" }];
      for (const [n, place] of places.entries()) await store.append(place, [entryOf(1, `of ${n}`)]);
      for (const [n, place] of places.entries()) assert.deepEqual(await store.load(place), [entryOf(1, `of ${n}`)]);
    }),

    prove("CA11 the same batch from several handles at once is there once", [...NEEDS, "another"], async (hf) => {
      const handles = [over(hf), over(await hf.another())];
      const batch = range(50).map((n) => entryOf(n));
      await Promise.all([...handles, ...handles].map((store) => store.append(KEY, batch)));
      assert.deepEqual(await present(handles[0]).load(KEY), batch);
    }),

    prove("CA11 what the caller does with a batch afterwards changes nothing", NEEDS, async (hf) => {
      const store = over(hf);
      const entry = entryOf(1);
      const appending = store.append(KEY, [entry]);
      entry.n = "changed";
      await appending;
      assert.deepEqual(await store.load(KEY), [entryOf(1)]);
    }),
  ];
}

function hostileCases(over: MakeSessionStore): readonly Case[] {
  return [
    prove("CA11 NUL, lone surrogates and odd values come back", NEEDS, async (hf) => {
      const odd = JSON.parse(
        '{"nul":"a\\u0000b","lone":"\\ud800","proto":{"__proto__":1},"deep":[[[{}]]],"\\ud800":"\\u0000","big":1e300,"empty":""}',
      ) as Record<string, Json>;
      const entries: SessionStoreEntry[] = [
        { type: "user", uuid: uuid(1), message: { content: "a\u0000b \ud800 c" }, odd },
        {
          type: "assistant",
          uuid: uuid(2),
          message: { content: [{ type: "text", text: "\udfff\u0000" }, 7, null, odd] },
        },
        { type: "\u0000", uuid: "\u0000\ud800", odd },
        {
          type: "user",
          uuid: uuid(3),
          message: { content: [{ type: "tool_result", tool_use_id: 1 }, { type: "tool_use" }] },
        },
        {
          type: "user",
          uuid: uuid(4),
          message: { content: [{ type: "image", source: { type: "base64", data: "?" } }] },
        },
        { type: "user", uuid: uuid(5), message: [] },
        { type: "user", uuid: "", message: null },
      ];
      const store = over(hf);
      await store.append(KEY, entries);
      await store.append(KEY, entries.slice(0, -1));
      assert.deepEqual(await store.load(KEY), entries);
    }),

    prove("CA11 a large entry comes back", NEEDS, async (hf) => {
      const store = over(hf);
      const entry = entryOf(1, "ß".repeat(6_000_000));
      await store.append(KEY, [entry]);
      assert.deepEqual(await store.load(KEY), [entry]);
    }),

    prove(
      "CA12 any text names a project, a session or a subpath, and no two are taken for each other",
      NEEDS,
      async (hf) => {
        const texts = [
          "a",
          "A",
          "",
          " ",
          "../..",
          "a/b",
          'a","b',
          "\u0000",
          "\ud800",
          "\ud801",
          "%",
          "é",
          "x@hd-0000",
          "holdfast:x#y",
        ];
        const long = ["y".repeat(300), `${"y".repeat(299)}z`];
        const store = over(hf);
        const all = [...texts, ...long];
        const places: SessionKey[] = all.flatMap((text) => [
          { projectKey: text, sessionId: "s" },
          { projectKey: "p", sessionId: text },
          ...(text === "" ? [] : [{ projectKey: "p", sessionId: "s", subpath: text }]),
        ]);
        for (const [n, place] of places.entries()) await store.append(place, [entryOf(n)]);
        for (const [n, place] of places.entries())
          assert.deepEqual(await store.load(place), [entryOf(n)], JSON.stringify(place));
        const ids = (await store.listSessions("p")).map(({ sessionId }) => sessionId);
        assert.deepEqual(ids.sort(), all.sort());
        const subkeys = await store.listSubkeys({ projectKey: "p", sessionId: "s" });
        assert.deepEqual(subkeys.sort(), all.filter((text) => text !== "").sort());
      },
    ),

    prove("CA11 what is no key or no entry is refused, and nothing of its batch is kept", NEEDS, async (hf) => {
      const store = over(hf);
      const keys: unknown[] = [null, {}, { ...KEY, subpath: "" }, { ...KEY, sessionId: 1 }, { projectKey: "p" }, "key"];
      for (const key of keys) {
        await refuses("InvalidArgument", () => store.append(key as SessionKey, [entryOf(1)]), JSON.stringify(key));
        await refuses("InvalidArgument", () => store.load(key as SessionKey), JSON.stringify(key));
      }
      const batches: unknown[] = [
        null,
        [null],
        [{}],
        [{ type: 1 }],
        [entryOf(1), "line"],
        [entryOf(1), { type: "x", at: new Date(0) }],
      ];
      for (const batch of batches) {
        await refuses(["InvalidArgument", "InvalidJson"], () => store.append(KEY, batch as SessionStoreEntry[]));
      }
      assert.equal(await store.load(KEY), null);
    }),
  ];
}
