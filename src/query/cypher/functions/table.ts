// All functions by name.
import { once } from "../../../core/memoize.ts";
import type { CypherFunction } from "./call-context.ts";
import { conversionFunctions } from "./conversion.ts";
import { listFunctions } from "./lists.ts";
import { mathFunctions } from "./math.ts";
import { textFunctions } from "./text.ts";

export const functions = once(
  (): ReadonlyMap<string, CypherFunction> =>
    new Map([...conversionFunctions(), ...listFunctions(), ...mathFunctions(), ...textFunctions()]),
);
