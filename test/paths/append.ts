// One append to a session that has messages, in a store on disk; prints the files of src that ran code for it.
import { open } from "../../src/index.ts";
import { executedFiles } from "./executed-files.ts";

const hf = await open(process.argv[2] ?? "");
const scope = { session: "chat-42", agent: "helper" };
for (const content of ["hi", "how are you?", "fine"]) await hf.history.append(scope, { role: "user", content });
console.log(JSON.stringify(await executedFiles(() => hf.history.append(scope, { role: "user", content: "and now?" }))));
await hf.close();
