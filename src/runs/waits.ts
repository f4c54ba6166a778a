// What a run waits for, as its row keeps it.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Waits } from "../contracts/run-waits.ts";
import { encodeText } from "../core/bytes.ts";
import { decodeRow, json } from "../core/decode.ts";

/** In the row: a list of kinds and of what. When it ends by itself is `wake_at`. */
export function encodeWaits(waits: readonly Waits[]): string | null {
  return waits.length === 0 ? null : JSON.stringify(waits.map((one) => [one.kind, whatOf(one)]));
}

function whatOf(wait: Waits): string {
  if (wait.kind === "signal") return wait.name;
  return wait.kind === "decision" ? wait.decision : wait.run;
}

/** Whether this is one of what the run waits for. */
export function waitsFor(row: RunRow, wait: Waits): boolean {
  if (row.status !== "waiting") return false;
  return waitsOf(row).some((one) => one.kind === wait.kind && whatOf(one) === whatOf(wait));
}

export function waitsOf({ waits, id }: Pick<RunRow, "waits" | "id">): readonly Waits[] {
  if (waits === null) return [];
  const listed = decodeRow({ kind: "run", id }, { waits: encodeText(waits) }, { waits: json }).waits;
  return (Array.isArray(listed) ? listed : [null]).map((one): Waits => {
    const [kind, what] = Array.isArray(one) ? one : [];
    if (typeof what === "string") {
      if (kind === "signal") return { kind, name: what };
      if (kind === "decision") return { kind, decision: what };
      if (kind === "run") return { kind, run: what };
    }
    throw new HoldfastError("StoreCorrupted", `the run ${JSON.stringify(id)} waits for something unknown`, {
      details: { kind: "run", id },
    });
  });
}
