// The Worker of the tests: one verb of the store a request, named by the path, with the answer as JSON or bytes.
import { type EdgeStore, isHoldfastError, openEdge } from "holdfast/edge";

interface Env {
  readonly HYPERDRIVE: { readonly connectionString: string };
}

type Verb = (store: EdgeStore, given: never, body: Uint8Array) => Promise<unknown>;

const VERBS: Readonly<Record<string, Verb>> = {
  info: async (store) => store.info,
  putBundle: (store, given, body) => store.captures.putBundle(body, given),
  getBundle: (store, { id }: { id: string }) => store.captures.getBundle(id),
  latest: (store, { request }: { request: string }) => store.captures.latest(request),
  expire: (store, { id, at }: { id: string; at: number }) => store.captures.expire(id, at),
  deleteExpired: (store) => store.captures.deleteExpired(),
  createSession: (store, given) => store.sessions.create(given),
  append: (store, { scope, message }: { scope: never; message: never }) => store.history.append(scope, message),
  get: (store, { scope }: { scope: never }) => store.history.get(scope),
  count: (store, { scope }: { scope: never }) => store.history.count(scope),
};

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const options = JSON.parse(url.searchParams.get("options") ?? "{}");
    try {
      const store = await openEdge(env.HYPERDRIVE, options);
      try {
        const body = new Uint8Array(await request.arrayBuffer());
        const given = JSON.parse(url.searchParams.get("given") ?? new TextDecoder().decode(body));
        const answer = await VERBS[url.pathname.slice(1)]?.(store, given as never, body);
        return answer instanceof Uint8Array ? new Response(answer as never) : Response.json(answer ?? null);
      } finally {
        await store.close();
      }
    } catch (error) {
      const { code, message, stack } = error as { code?: string; message?: string; stack?: string };
      return Response.json({ code, message, stack, isHoldfast: isHoldfastError(error) }, { status: 500 });
    }
  },
};
