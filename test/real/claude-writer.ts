// A child that mirrors entries into the session store, batch by batch, and says "ack <writer> <first n>" for each batch.
import { claudeSessionStore } from "../../src/adapters/claude/entry.ts";
import { open } from "../../src/open.ts";
import { counted, entryOf, KEY } from "./claude-entries.ts";
import { say } from "./say.ts";

interface WriterArguments {
  readonly url: string;
  readonly writer: number;
  readonly batches: number;
  readonly size: number;
}

const { url, writer, batches, size }: WriterArguments = JSON.parse(process.argv[2] ?? "{}");
const hf = await open(url);
const store = claudeSessionStore(hf, { fold: counted });
say("ready");
for (let batch = 0; batch < batches; batch++) {
  await store.append(
    KEY,
    Array.from({ length: size }, (_, i) => entryOf(writer, batch * size + i)),
  );
  say(`ack ${writer} ${batch * size}`);
}
await hf.close();
say("done");
