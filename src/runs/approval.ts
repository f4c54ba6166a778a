// Tools that a person must permit before their first try.
import { HoldfastError } from "../contracts/errors.ts";
import type { Slot } from "../contracts/rows.ts";
import type { Tool } from "../contracts/runs.ts";
import type { Write } from "../contracts/storage.ts";
import type { Around } from "./around.ts";

/**
 * How the steps of a tool ask for permission: not at all, always, or as the tool decides by its input, which it is given as
 * its validator gives it. A rule that throws refuses the step; `refuse` records that, so that a replay is told the same.
 */
export function approvalOf(
  { approve = false }: Pick<Tool, "approve">,
  name: string,
  readInput: () => Promise<unknown>,
  refuse: (error: unknown) => Promise<never>,
): Around {
  if (approve === false) return {};
  if (approve === true) return { needsApproval: async () => true };
  return {
    needsApproval: async () => {
      const input = (await readInput()) as never;
      try {
        return checkAnswer(approve(input), name);
      } catch (error) {
        return refuse(error);
      }
    },
  };
}

/** Anything else would be taken for a yes or a no: a promise, for example, is always true. */
function checkAnswer(answer: unknown, name: string): boolean {
  if (typeof answer === "boolean") return answer;
  const given = answer instanceof Promise ? "a promise" : typeof answer;
  throw new HoldfastError("InvalidArgument", `approve of the tool ${name} gave ${given}, not true or false`, {
    details: { what: `tools.${name}.approve` },
    hint: "approve decides by the input alone, at once: it is not async.",
  });
}

/** As a run is pinned to it. */
export function asksForApproval({ approve = false }: Pick<Tool, "approve">): boolean {
  return approve !== false;
}

/** The row of a question to a person. */
export function insertDecision(run: string, step: number | Slot): Write {
  return { op: "insert", table: "decisions", row: { run, step_seq: step } };
}
