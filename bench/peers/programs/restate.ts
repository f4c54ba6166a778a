// Restate: a service whose steps are `ctx.run`, called through the server's ingress with an idempotency key.
import { programSetting, serve, step } from "./load.ts";

export interface RestateSetting {
  readonly ingress: string;
  readonly admin: string;
  readonly port: number;
  /** Registers this service with the server; once is enough. */
  readonly register: boolean;
}

interface RestateContext {
  run<T>(name: string, body: () => Promise<T>): Promise<T>;
}

interface Restate {
  service(definition: {
    readonly name: string;
    readonly handlers: {
      readonly execute: (ctx: RestateContext, input: { run: string; steps: number }) => Promise<void>;
    };
  }): object;
  serve(options: { readonly services: readonly object[]; readonly port: number }): Promise<number>;
}

const { ingress, admin, port, register }: RestateSetting = programSetting();
const PACKAGE = "@restatedev/restate-sdk";
const restate: Restate = await import(PACKAGE);

const service = restate.service({
  name: "bench",
  handlers: {
    async execute(ctx, { run, steps }) {
      for (let n = 0; n < steps; n++) await ctx.run("step", () => step(run, n));
    },
  },
});
await restate.serve({ services: [service], port });
if (register) await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}` });

async function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
}

serve({
  execute: (run, steps) => post(`${ingress}/bench/execute`, { run, steps }, { "idempotency-key": run }),
  close: async () => {},
});
