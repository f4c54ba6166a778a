// The order of lists as an option: the choices and the default are those of the verbs that list.
import { ORDER } from "../contracts/verbs/vocabulary.ts";
import type { ListOrder } from "../core/cursor.ts";
import type { Arguments } from "./command-line.ts";
import { choiceOption, type OptionSpec } from "./option.ts";

export const ORDER_OPTION = {
  ...choiceOption(ORDER),
  value: "ORDER",
  summary: "newest (default) or oldest first",
} satisfies OptionSpec;

export function readOrder(args: Arguments): ListOrder {
  return args.choice("order", ORDER.of) ?? ORDER.fallback;
}
