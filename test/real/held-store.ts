// Opens the store of its first argument, writes to it, and ends without closing it: what SQLite keeps beside the file stays.
import { open } from "../../src/open.ts";

const store = await open(process.argv[2] ?? "");
await store.history.append({ session: "s", agent: "a" }, { role: "user", content: "hello" });
process.kill(process.pid, "SIGKILL");
