// A client of the chat server: sends one message and prints the answer as it comes. When the connection breaks, it
// reconnects and continues after the last event it has seen. In a browser, EventSource does the same by itself.
//
//   node chat-server/client.ts my-chat 1 "What are tides?"
import { setTimeout as sleep } from "node:timers/promises";

const [chat = "my-chat", id = "1", text = "What are tides?"] = process.argv.slice(2);
const url = `${process.env.CHAT_URL ?? "http://127.0.0.1:3000"}/chats/${chat}`;

let lastEventId = "0";
let shown = ""; // of the message that is being streamed

/** Returns true if the answer is complete. */
async function followAnswer(): Promise<boolean> {
  const posted = await fetch(`${url}/messages`, { method: "POST", body: JSON.stringify({ id, text }) });
  if (!posted.ok) {
    console.error(await posted.text());
    process.exit(1);
  }
  const { run } = (await posted.json()) as { run: string };
  const { body } = await fetch(`${url}/events`, { headers: { "last-event-id": lastEventId } });
  shown = "";
  let received = "";
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (received + piece).split("\n\n");
    received = events.pop() ?? "";
    for (const event of events) if (showEvent(event, run)) return true;
  }
  return false;
}

function showEvent(event: string, run: string): boolean {
  const field = (name: string) => event.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
  const data = JSON.parse(field("data") ?? "{}");
  lastEventId = field("id") ?? lastEventId;
  if (data.run !== run) return false; // an earlier message of this chat
  if (field("event") === "token") {
    process.stdout.write(data.text);
    shown += data.text;
  } else if (field("event") === "message" && data.role === "assistant") {
    // If tokens were missed, the whole message is printed.
    const isComplete = shown === data.text;
    console.log(isComplete ? "" : `${shown === "" ? "" : "\n"}${data.text}`);
    shown = "";
  }
  return field("event") === "end";
}

while (!(await followAnswer().catch(() => false))) {
  console.log("\n(reconnecting)");
  await sleep(500);
}
