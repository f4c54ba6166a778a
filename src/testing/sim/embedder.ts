// An embedder in a simulated process: its calls take their turn among all that processes do, and fail as those of models do.
import type { Embedder } from "../../contracts/embedders.ts";
import type { Faults } from "./faults.ts";
import type { Process } from "./scheduler.ts";

export function faultyEmbedder(embedder: Embedder, process: Process, faults: Faults): Embedder {
  const at = { process: process.name, what: "model", names: [embedder.id] };
  return {
    ...embedder,
    embed: async (texts, options) => {
      await process.schedule("model");
      const late = faults.strike(["modelTimeout"], at);
      if (late !== null) {
        await process.environment.sleep(faults.length({ ...late, ms: 60_000 }));
        throw new Error("simulated: no answer in time");
      }
      const vectors = await embedder.embed(texts, options);
      // The process may die, or another one may change the texts, before the answer arrives.
      await process.schedule("model");
      if (faults.strike(["modelRateLimit"], at) !== null) {
        throw Object.assign(new Error("simulated: too many requests"), { status: 429, retryAfterMs: 2000 });
      }
      return faults.strike(["modelGarbage"], at) === null ? vectors : vectors.map((vector) => vector.slice(1));
    },
  };
}
