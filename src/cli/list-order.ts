// The order of lists, as an option: newest first unless the user asks otherwise.
import type { ListOrder } from "../core/cursor.ts";
import type { Arguments } from "./arguments.ts";
import type { OptionSpec } from "./command.ts";
import { UsageError } from "./failure.ts";

export const ORDER_OPTION = {
  type: "text",
  value: "ORDER",
  summary: "newest (default) or oldest first",
} as const satisfies OptionSpec;

export function readOrder(args: Arguments): ListOrder {
  const order = args.text("order") ?? "newest";
  if (order === "newest" || order === "oldest") return order;
  throw new UsageError(`--order takes newest or oldest, not "${order}"`);
}
