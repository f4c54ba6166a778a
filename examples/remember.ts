// Facts that replace one another, without a model. Run it several times: each run is a session of its own, and knows what the user
// said in earlier ones. (assistant.ts is the same with a model that has memory tools.)
//
//   node remember.ts "I live in Paris"
//   node remember.ts "I live in Rome now"
//   node remember.ts "where do I live?"
//
// What a model would do here is done by a few patterns, so that the example needs no key: it extracts facts with a subject and an
// attribute, so that a new value takes the place of the old one.
import { open } from "holdfast";

const [said = "hello"] = process.argv.slice(2);
const hf = await open(process.env.STORE ?? "assistant.db");
const agent = "assistant";
const session = `chat-${Date.now()}`;
const user = await hf.history.append({ session, agent }, { role: "user", content: said });

/** In your program, ask a model for facts. */
const PATTERNS = [
  {
    pattern: /\bI live in ([\p{L} ]+?)(?: now)?[.!]?$/iu,
    attribute: "home",
    fact: (place: string) => `The user lives in ${place}`,
  },
  { pattern: /\bmy name is ([\p{L} ]+)/iu, attribute: "name", fact: (name: string) => `The user's name is ${name}` },
];

let reply = "";
for (const { pattern, attribute, fact } of PATTERNS) {
  const value = pattern.exec(said)?.[1];
  if (value === undefined) continue;
  const source = { session, message: user.id };
  const saved = await hf.memory.save(fact(value), { agent, subject: "user", attribute, value, source });
  const what = saved.isNew ? (saved.superseded.length > 0 ? "I have changed" : "I will remember") : "I knew";
  reply += `${what}: ${saved.content}. `;
}
if (reply === "") {
  const hits = await hf.memory.search(said, { agent, limit: 3 });
  // Used memories are confirmed by you, not by the search.
  for (const { id } of hits) await hf.memory.touch(id, { agent, source: { session } });
  reply = hits.length === 0 ? "I know nothing about that." : hits.map(({ content }) => `${content}.`).join(" ");
}

await hf.history.append({ session, agent }, { role: "assistant", content: reply });
console.log(reply.trim());
await hf.close();
