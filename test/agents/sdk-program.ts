// A program that asks the real SDK through persistentQuery, to be killed: store, prompt and how often it captures are its
// arguments. It ends with one line of JSON on standard output.
import { pathToFileURL } from "node:url";
import { claudeFiles, persistentQuery } from "../../src/adapters/claude/entry.ts";
import { open } from "../../src/open.ts";

const [sdk = "", store = "", prompt = "", everyMs = "2000", settings = "{}"] = process.argv.slice(2);
const { query } = await import(pathToFileURL(sdk).href);
const hf = await open(store);
const options = JSON.parse(settings);
const env = { ...process.env };
const problems: string[] = [];
let resumed: string | null = null;
let said = "";
const messages = persistentQuery({
  hf,
  query,
  prompt: prompt as never,
  options: { ...options, env } as never,
  request: "ticket-8",
  ...claudeFiles({ hf, request: "ticket-8", cwd: options.cwd, env }),
  captureEveryMs: Number(everyMs),
  onStart: (start) => {
    ({ resumed } = start);
  },
  onProblem: ({ during, error }) => problems.push(`${during}: ${error instanceof Error ? error.message : error}`),
});
for await (const message of messages as AsyncIterable<object>) said += JSON.stringify(message);
await hf.close();
console.log(JSON.stringify({ resumed, problems, said }));
