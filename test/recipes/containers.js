// In the place of @cloudflare/containers, whose class needs Cloudflare's container runtime: as there, requests go to the container of the
// object, which is started with `envVars`. Here the binding MACHINE starts it.
import { DurableObject } from "cloudflare:workers";

export class Container extends DurableObject {
  envVars = {};

  async fetch(request) {
    const start = JSON.stringify({ port: this.defaultPort, env: this.envVars });
    return this.env.MACHINE.fetch("http://machine/", {
      ...{ method: request.method, body: await request.text(), headers: { start } },
    });
  }
}

export const getContainer = (namespace, name) => namespace.get(namespace.idFromName(name));
