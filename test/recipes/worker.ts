// The consumer of the recipe with a container that is reached by a binding of its own.
import { type Agent, type Job, sweep, work } from "../../recipes/cloudflare/consumer.ts";

interface Env {
  readonly HYPERDRIVE: { readonly connectionString: string };
  readonly AGENT: Agent;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (new URL(request.url).pathname === "/sweep") return Response.json(await sweep(env.HYPERDRIVE));
    return Response.json(await work((await request.json()) as Job, env.AGENT, env.HYPERDRIVE));
  },
};
