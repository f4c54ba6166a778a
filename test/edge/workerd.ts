// A Worker in the real workerd: bundled as a Worker is, with its own copy of what it imports, and with a Hyperdrive binding to a
// PostgreSQL server.
import * as path from "node:path";
import { Miniflare, type WorkerOptions } from "miniflare";
import { rolldown } from "rolldown";

const root = path.resolve(import.meta.dirname, "../..");

export interface BundledWorker {
  readonly code: string;
  /** What it imports from outside: modules of the platform. */
  readonly external: readonly string[];
  /** The files of this repository that are in it. */
  readonly modules: readonly string[];
}

/** `alias` names files that stand for packages. */
export async function bundleWorker(
  entry: string,
  alias: Readonly<Record<string, string>> = {},
): Promise<BundledWorker> {
  const bundle = await rolldown({
    input: entry,
    platform: "neutral",
    external: [/^node:/, /^cloudflare:/],
    resolve: {
      conditionNames: ["workerd", "worker", "import"],
      alias: { "holdfast/edge": path.join(root, "src/edge.ts"), ...alias },
    },
    logLevel: "silent",
  });
  const { output } = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  const [chunk] = output;
  return {
    code: chunk.code,
    external: chunk.imports,
    modules: chunk.moduleIds.map((id) => path.relative(root, id)),
  };
}

export type Bindings = Partial<
  Pick<
    WorkerOptions,
    "bindings" | "durableObjects" | "kvNamespaces" | "queueConsumers" | "queueProducers" | "serviceBindings"
  >
>;

export function startWorker(code: string, postgresUrl: string, bindings: Bindings = {}): Miniflare {
  return new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: code }],
    compatibilityDate: "2026-07-01",
    compatibilityFlags: ["nodejs_compat"],
    hyperdrives: { HYPERDRIVE: postgresUrl },
    unsafeTriggerHandlers: true,
    ...bindings,
  });
}
