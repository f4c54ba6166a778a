// Human approval over HTTP: an order is charged only after a person has approved it. The run waits for the answer in the store,
// for days if need be, and needs no process meanwhile. Kill the server at any moment and start it again.
//
//   npm install holdfast
//   node approval-server.ts
//
//   curl -d '{ "id": "order-7", "item": "kettle", "eur": 40 }' localhost:3000/orders
//   curl localhost:3000/pending
//   curl -d '{ "approve": true, "reason": "approval", "by": "ada" }' localhost:3000/decisions/DECISION
//   curl localhost:3000/orders/order-7
import { createServer, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { defineAgent, isHoldfastError, open, StepFailed, shape, tool } from "holdfast";

interface Order {
  readonly item: string;
  readonly eur: number;
}

const cashier = defineAgent({
  id: "cashier",
  version: "1",
  input: shape<Order>(),
  tools: {
    charge: tool({
      approve: true, // or a function of the input: ({ eur }) => eur > 100
      execute: async ({ eur }: Order, { idempotencyKey }) => ({ eur, receipt: idempotencyKey }), // your payment provider
    }),
  },
  async iterate(it) {
    try {
      return it.done(await it.tools.charge(it.input));
    } catch (error) {
      if (error instanceof StepFailed && error.code === "Denied") return it.done("refused");
      throw error;
    }
  },
});

const hf = await open("orders.db");
hf.runs.createWorker({ agents: [cashier] }).start();

const routes: Readonly<Record<string, (id: string, body: string) => Promise<unknown>>> = {
  async "POST /orders"(_, body) {
    const { id, item, eur } = JSON.parse(body);
    const run = await hf.runs.start(cashier, { id, session: id, input: { item, eur } }); // once, however often it is posted
    return { id: run.id, status: run.status };
  },
  async "GET /orders"(id) {
    const result = await hf.runs.result(id);
    return result && { status: result.status, value: result.value, error: result.error };
  },
  async "GET /pending"() {
    const decisions = (await hf.runs.pending()).items;
    return decisions.map(({ id, run, reason, input, askedAt }) => ({ id, run, reason, input, askedAt }));
  },
  // The reason comes from /pending: "approval", or "in-doubt" after a crash during the charge; then "approve" charges again.
  async "POST /decisions"(id, body) {
    const { approve, reason, by } = JSON.parse(body);
    const run = await hf.runs.answer(id, { verdict: approve === true ? "retry" : "fail", reason, by });
    return { run: run.id };
  },
};

async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const [, kind = "", id = ""] = (request.url ?? "").split("/");
  const route = routes[`${request.method} /${kind}`];
  if (route === undefined) return { status: 404, body: { code: "NotFound" } };
  try {
    return { status: 200, body: await route(decodeURIComponent(id), await readText(request)) };
  } catch (error) {
    const { code, hint } = isHoldfastError(error) ? error : { code: "BadRequest", hint: undefined };
    return {
      status: code === "NotFound" ? 404 : code === "Conflict" ? 409 : 400,
      body: { code, message: `${error}`, hint },
    };
  }
}

const server = createServer(async (request, response) => {
  const { status, body } = await answer(request);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
});
const port = Number(process.env.PORT ?? 3000);
server.listen(port, "127.0.0.1", () => console.log(`listening on port ${port}`));
