// Several agents: an editor gives each topic to a researcher and lets a writer combine what they found. Every child is a run
// with a session of its own. Kill the program at any moment and start it again: children that have ended are not asked
// again, and the others continue where they were.
//
//   npm install holdfast @anthropic-ai/sdk
//   export ANTHROPIC_API_KEY=…
//   node spawn.ts tides kelp
import Anthropic from "@anthropic-ai/sdk";
import { anthropicModel, defineAgent, open, shape, toolLoop } from "holdfast";

const model = anthropicModel(new Anthropic(), { model: "claude-sonnet-5-5", maxTokens: 1024 });
const researcher = toolLoop({ id: "researcher", version: "1", model, system: "State one fact about the topic." });
const writer = toolLoop({ id: "writer", version: "1", model, system: "Combine the facts into one sentence." });

const editor = defineAgent({
  id: "editor",
  version: "1",
  input: shape<{ topics: string[] }>(),
  output: shape<string>(),
  async iterate(it) {
    const found = await it.parallel(
      ...it.input.topics.map((topic) => (branch: typeof it) => branch.spawn(researcher, { input: topic })),
    );
    // A child that failed does not fail its parent: look at the status.
    const facts = found.flatMap((child) => (child.status === "completed" ? [child.value.text] : []));
    const written = await it.spawn(writer, { input: facts.join("\n"), limits: { iterations: 3 } });
    return written.status === "completed" ? it.done(written.value.text) : it.fail(written.error);
  },
});

const topics = process.argv.slice(2);
const hf = await open("article.db");
const result = await hf.runs.execute(editor, { id: "article-1", session: "article-1", input: { topics } });
console.log(result.status === "completed" ? result.value : result.error);
console.log(`${(await hf.sessions.cost()).total.calls} model calls`);
await hf.close();
