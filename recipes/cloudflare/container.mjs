// What runs in the container: no database and no credentials of one. A request brings the prompt and the session so far, and takes
// the session away again: the conversation, not the working tree. What the agent edits is gone with the container unless it is
// pushed. It works on one request at a time, because all of them share the working directory. Its port is 8080.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import * as path from "node:path";

let isWorking = false;

const server = createServer(async (request, response) => {
  const send = (status, body) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (isWorking) return send(409, { error: "the container works on another request" });
  isWorking = true;
  try {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { prompt, session } = JSON.parse(Buffer.concat(pieces).toString());
    send(200, await work(prompt, session));
  } catch (error) {
    send(500, { error: String(error) });
  } finally {
    isWorking = false;
  }
});
server.listen(Number(process.env.PORT ?? 8080), () => console.log(`listening on ${server.address().port}`));

/** `session` is a bundle in base64, or null for a new one. */
async function work(prompt, session) {
  const folder = await mkdtemp(path.join(tmpdir(), "session-"));
  try {
    const file = path.join(folder, "session.hfcap");
    if (session !== null) await writeFile(file, Buffer.from(session, "base64"));
    // Here: clone the branch of the request into the working directory, and push it after the run.
    // No person can answer a question here: edits and shell commands are allowed, and everything else is denied.
    const claude = ["claude", "-p", prompt, "--permission-mode", "acceptEdits", "--allowedTools", "Bash"];
    const { code, output } = await run("holdfast", ["run", "--out", file, "--", ...claude]);
    // Also after a failure: what the agent did until then is kept.
    const bundle = await readFile(file).catch(() => null);
    return { code, output, session: bundle?.toString("base64") ?? null };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    const output = [];
    child.stdout.on("data", (piece) => output.push(piece));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output: Buffer.concat(output).toString() }));
  });
}
