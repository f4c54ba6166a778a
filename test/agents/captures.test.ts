// A rich session of the real Claude Code through the store: saved, its machine gone, put back in another home and another
// directory. Whether it is whole is asked of the agent.
import * as fs from "node:fs";
import * as path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { sourceOfCapture } from "../../src/coding/capture-source.ts";
import { localAgent } from "../../src/coding/local-agent.ts";
import { Saver } from "../../src/coding/saver.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { testLong } from "../long-test.ts";
import { withAgents } from "./agents.ts";
import { type Fidelity, fidelityOf, WHOLE } from "./fidelity.ts";
import { type Machine, type Machines, startMachinesWithStore } from "./machine.ts";
import { richSession } from "./rich.ts";
import { loadSdk } from "./sdk.ts";

const environment = realEnvironment();

withAgents("captures of Claude Code", (agents) => {
  let machines: Machines;
  let hf: Holdfast;
  beforeAll(async () => {
    const started = await startMachinesWithStore(agents);
    ({ machines, hf } = started);
    return started.remove;
  });

  /** Saved from a machine that is no more, and put back on the next. */
  async function moved(next: (a: Machine) => Machine, rewritePaths: boolean): Promise<Fidelity> {
    const sdk = await loadSdk(machines);
    const a = machines.add();
    const session = await richSession(sdk, machines, a);
    const found = await localAgent("claude-code", { env: a.env, cwd: a.cwd, environment }).find(session.sessionId);
    const saved = await new Saver({ captures: hf.captures, environment, request: session.sessionId }).save(found);
    const b = next(a);
    for (const file of [session.edited, session.created]) {
      if (b.cwd !== a.cwd) fs.copyFileSync(file, path.join(b.cwd, path.basename(file)));
    }
    await a.die({ keepsCwd: b.cwd === a.cwd });
    const source = await sourceOfCapture(hf.captures, saved?.capture.id ?? "");
    const here = localAgent("claude-code", { env: b.env, cwd: b.cwd, environment });
    const restored = await here.restore(source, { rewritePaths });
    expect(restored.left).toEqual([]);
    const key = restored.key ?? "";
    const spilled = session.spilled.replace(a.home, b.home).replace(/projects\/[^/]+\//, `projects/${key}/`);
    const at = (file: string) => path.join(b.cwd, path.basename(file));
    return fidelityOf(sdk, machines, b, {
      ...session,
      spilled,
      edited: at(session.edited),
      created: at(session.created),
    });
  }

  // cli.test.ts always does the same by commands.
  testLong("CA1 in another home, in the directory of the same name, it is whole", {}, async () => {
    expect(await moved((a) => machines.add({ cwd: a.cwd }), false)).toEqual(WHOLE);
  });

  test("CA3 in another home and another directory it is whole", async () => {
    expect(await moved(() => machines.add({ cwd: "other.place_with é" }), true)).toEqual(WHOLE);
  });
});
