// The systems whose durable steps are compared: how each is started, with its own database or server.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { openSync } from "node:fs";
import { createServer } from "node:net";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import connect from "postgres";
import type { SharedServer } from "../foundation/postgres.ts";
import type { Setting } from "../suite.ts";
import { restateProgram } from "./install.ts";
import { Program } from "./program.ts";
import type { StepReporting } from "./programs/load.ts";

export interface Contender {
  readonly name: string;
  /** A program that executes workflows; a second one after `kill` finds what the first one left. */
  start(reporting?: StepReporting): Promise<Program>;
  close(): Promise<void>;
}

export type MakeContender = (setting: Setting, entry: string, server: SharedServer) => Promise<Contender>;

export const SQLITE = "holdfast-sqlite";
export const POSTGRES = "holdfast-postgres";

export const CONTENDERS: Readonly<Record<string, MakeContender>> = {
  [SQLITE]: async ({ folder }, entry) => {
    const store = path.join(folder, `steps-${randomBytes(4).toString("hex")}.db`);
    return {
      name: SQLITE,
      start: (reporting) => Program.start("holdfast", { entry, store, ...reporting }, folder),
      close: async () => {},
    };
  },
  [POSTGRES]: async ({ folder, say }, entry, server) => {
    const database = await newDatabase(await server.url(say));
    return {
      name: POSTGRES,
      start: (reporting) => Program.start("holdfast", { entry, store: database.url, ...reporting }, folder),
      close: database.drop,
    };
  },
  dbos: async ({ folder, say }, _entry, server) => {
    const database = await newDatabase(await server.url(say));
    return {
      name: "dbos",
      start: (reporting) => Program.start("dbos", { systemDatabaseUrl: database.url, ...reporting }, folder),
      close: database.drop,
    };
  },
  restate: async ({ folder }) => {
    const restate = await startRestate(folder);
    const port = await freePort();
    let register = true;
    return {
      name: "restate",
      start: async (reporting) => {
        const program = await Program.start("restate", { ...restate.urls, port, register, ...reporting }, folder);
        register = false;
        return program;
      },
      close: restate.stop,
    };
  },
};

export interface Database {
  readonly url: string;
  /** Bytes of all tables with their indexes. */
  size(): Promise<number>;
  drop(): Promise<void>;
}

export async function newDatabase(serverUrl: string): Promise<Database> {
  const name = `peers_${randomBytes(6).toString("hex")}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await statement(serverUrl, `CREATE DATABASE ${name}`);
  return {
    url: url.href,
    async size() {
      const [row] = await statement(
        url.href,
        `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')`,
      );
      return Number(row?.bytes);
    },
    async drop() {
      await statement(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function statement(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const connection = connect(url, { max: 1, onnotice: () => {} });
  try {
    return await connection.unsafe(sql);
  } finally {
    await connection.end();
  }
}

interface RestateServer {
  readonly urls: { readonly ingress: string; readonly admin: string };
  stop(): Promise<void>;
}

const RESTATE_START_MS = 60_000;

/** One node with its defaults (fsync on), on its own ports, without telemetry. */
async function startRestate(folder: string): Promise<RestateServer> {
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const log = openSync(path.join(folder, "restate-server.log"), "a");
  const child: ChildProcess = spawn(restateProgram(), ["--no-logo", "--listen-mode", "tcp"], {
    cwd: folder,
    stdio: ["ignore", log, log],
    env: {
      ...process.env,
      RUST_LOG: "warn",
      RESTATE_BASE_DIR: path.join(folder, "restate"),
      RESTATE_NODE_NAME: "bench",
      RESTATE_DISABLE_TELEMETRY: "true",
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    },
  });
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const deadline = performance.now() + RESTATE_START_MS;
  while (!(await isHealthy(`${urls.admin}/health`)) || !(await isHealthy(`${urls.ingress}/restate/health`))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      child.kill("SIGKILL");
      throw new Error(`Restate's server did not start; see ${folder}/restate-server.log`);
    }
    await sleep(100);
  }
  return {
    urls,
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
