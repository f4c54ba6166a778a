// The process the demo kills: appends messages as fast as it can, and prints each one's seq when it is acknowledged.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command } from "../command.ts";
import { writerText } from "../demo/crash.ts";
import type { Output } from "../output.ts";

/** Appends under way at once, so that the kill always finds some in the middle. */
const LANES = 8;
/** It is killed long before; without anybody to kill it, it ends. */
const MOST = 1_000_000;

export const demoWriter: Command = {
  name: "demo-writer",
  hidden: true,
  summary: "append messages until killed (used by the demo)",
  usage: ["demo-writer SESSION"],
  description: "Appends messages as fast as it can and prints the seq and the number of each one that is acknowledged.",
  options: {},
  operands: [{ name: "SESSION", need: "one" }],
  examples: [{ command: "holdfast demo", does: "starts it, and kills it" }],
  run: async (context) => {
    const holdfast = await context.open();
    let next = 1;
    const lane = async () => {
      while (next <= MOST) await write(holdfast, context.args.operand(0), next++, context.output);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return undefined;
  },
};

async function write(holdfast: Holdfast, session: string, number: number, output: Output): Promise<void> {
  const message = { role: "assistant", content: writerText(number) } as const;
  const { seq } = await holdfast.history.append({ session, agent: "writer" }, message);
  await output.bytes(`${seq} ${number}\n`);
}
