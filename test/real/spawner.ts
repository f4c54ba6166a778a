// A child that spawns, attaches and forks without end, several at a time, and says of each what it knows only after its
// promise resolved: "begun <invocation> <callee>", "ended <invocation>", "forked <session> <source>", "head <session> <head>".
import { open } from "../../src/open.ts";
import { say } from "./say.ts";

export interface SpawnerArguments {
  readonly url: string;
  /** Part of every id it makes. */
  readonly name: string;
  readonly lanes: number;
}

const { url, name, lanes }: SpawnerArguments = JSON.parse(process.argv[2] ?? "{}");
const store = await open(url);
const { invocations, sessions, heads, calls, history } = store;

async function begin(caller: string): Promise<void> {
  if ((await sessions.get(caller)) === null) await sessions.create({ id: caller });
}

async function around(lane: string, n: number): Promise<void> {
  const caller = `caller-${lane}`;
  const child = `${lane}-${n}`;
  const { id: call } = await calls.add(caller, { type: "root", model: "m" });
  const spawned = await invocations.start(caller, { call, label: child, session: { id: child } });
  say(`begun ${spawned.id} ${child}`);
  await history.append({ session: child, agent: "helper" }, { role: "user", content: child });
  const head = await heads.publish(child, { final: n, vars: { n } });
  say(`head ${child} ${head.id}`);
  await invocations.finish(spawned.id, n % 3 === 0 ? { error: "no" } : {});
  say(`ended ${spawned.id}`);

  const branched = await sessions.attach(child, { caller, mode: "branch", session: { id: `${child}-b` } });
  say(`begun ${branched.id} ${child}-b`);
  const continued = await sessions.attach(child, { caller, mode: "continue" });
  say(`begun ${continued.id} ${child}`);
  await invocations.finish(continued.id);
  say(`ended ${continued.id}`);
  // The other one stays "running", as after a crash.

  await sessions.fork(`${child}@${head.id}`, { id: `${child}-f` });
  say(`forked ${child}-f ${child}`);
  const own = await heads.publish(caller);
  say(`head ${caller} ${own.id}`);
}

say("ready");
await Promise.all(
  Array.from({ length: lanes }, async (_, i) => {
    const lane = `${name}-${i}`;
    await begin(`caller-${lane}`);
    for (let n = 0; ; n++) await around(lane, n);
  }),
);
