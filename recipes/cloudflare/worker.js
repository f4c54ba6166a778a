// The Worker: jobs come from a queue, containers are Durable Objects, one for each request.
import { Container, getContainer } from "@cloudflare/containers";
import { sweep, work } from "./consumer.ts";

export class AgentContainer extends Container {
  defaultPort = 8080;
  sleepAfter = "5m";
}

export default {
  async queue(batch, env) {
    for (const message of batch.messages) {
      await work(message.body, getContainer(env.AGENT, message.body.request), env.HYPERDRIVE);
      message.ack();
    }
  },
  async scheduled(_event, env) {
    await sweep(env.HYPERDRIVE);
  },
};
