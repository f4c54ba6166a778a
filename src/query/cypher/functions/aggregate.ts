// Aggregates: each group has an accumulator, which takes the values of its rows one by one. Nulls are left out.
import { EvaluationError } from "../errors.ts";
import { sizeOfValue } from "../execute/meter.ts";
import { calculate } from "../values/arithmetic.ts";
import { orderValues } from "../values/compare.ts";
import { valueKey } from "../values/equality.ts";
import { type CypherValue, isNumber } from "../values/value.ts";
import { invalidValue } from "./call-context.ts";

export interface Accumulator {
  /** `second` is the second operand: of percentiles. */
  add(value: CypherValue, second: CypherValue): void;
  result(): CypherValue;
}

export interface AggregateOptions {
  readonly name: string;
  readonly isDistinct: boolean;
  /** Called for every value that the accumulator keeps. */
  readonly hold: (count: number) => void;
}

export function createAccumulator(options: AggregateOptions): Accumulator {
  const inner = createPlain(options);
  if (!options.isDistinct) return inner;
  const seen = new Set<string>();
  return {
    add(value, second) {
      if (value === null) return;
      const key = valueKey(value);
      if (seen.has(key)) return;
      seen.add(key);
      options.hold(1);
      inner.add(value, second);
    },
    result: () => inner.result(),
  };
}

function createPlain({ name, hold }: AggregateOptions): Accumulator {
  switch (name) {
    case "count":
      return countValues();
    case "sum":
      return sumValues();
    case "avg":
      return averageValues();
    case "min":
      return extremeValue((order) => order < 0);
    case "max":
      return extremeValue((order) => order > 0);
    case "collect":
      return collectValues(hold);
    case "percentilecont":
      return percentile("percentileCont", hold, interpolate);
    case "percentiledisc":
      return percentile("percentileDisc", hold, nearestRank);
    case "stdev":
      return deviation("stDev", 1);
    case "stdevp":
      return deviation("stDevP", 0);
    default:
      throw new Error(`bug: no aggregate is called ${name}`);
  }
}

function countValues(): Accumulator {
  let count = 0;
  return {
    add(value) {
      if (value !== null) count++;
    },
    result: () => BigInt(count),
  };
}

function sumValues(): Accumulator {
  let sum: CypherValue = 0n;
  return {
    add(value) {
      if (value === null) return;
      if (!isNumber(value)) throw invalidValue("sum", value);
      sum = calculate("+", sum, value);
    },
    result: () => sum,
  };
}

function averageValues(): Accumulator {
  let count = 0;
  let mean = 0;
  return {
    add(value) {
      if (value === null) return;
      if (!isNumber(value)) throw invalidValue("avg", value);
      count++;
      mean += (Number(value) - mean) / count;
    },
    result: () => (count === 0 ? null : mean),
  };
}

function extremeValue(isBetter: (order: number) => boolean): Accumulator {
  let best: CypherValue = null;
  return {
    add(value) {
      if (value !== null && (best === null || isBetter(orderValues(value, best)))) best = value;
    },
    result: () => best,
  };
}

function collectValues(hold: (count: number) => void): Accumulator {
  const values: CypherValue[] = [];
  return {
    add(value) {
      if (value === null) return;
      hold(sizeOfValue(value));
      values.push(value);
    },
    result: () => values,
  };
}

function percentile(
  name: string,
  hold: (count: number) => void,
  pick: (sorted: readonly (bigint | number)[], share: number) => CypherValue,
): Accumulator {
  const values: (bigint | number)[] = [];
  let share = 0;
  return {
    add(value, second) {
      if (value === null) return;
      if (!isNumber(value)) throw invalidValue(name, value);
      if (!isNumber(second)) throw invalidValue(name, second);
      share = Number(second);
      if (!(share >= 0 && share <= 1)) {
        throw new EvaluationError(
          "ArgumentError",
          "NumberOutOfRange",
          `${name}() needs a share from 0 to 1, not ${share}`,
        );
      }
      hold(1);
      values.push(value);
    },
    result() {
      return values.length === 0 ? null : pick(values.toSorted(orderValues), share);
    },
  };
}

function interpolate(sorted: readonly (bigint | number)[], share: number): CypherValue {
  const place = share * (sorted.length - 1);
  const low = Number(sorted[Math.floor(place)]);
  const high = Number(sorted[Math.ceil(place)]);
  return low + (high - low) * (place - Math.floor(place));
}

function nearestRank(sorted: readonly (bigint | number)[], share: number): CypherValue {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** Welford's method: sums of squares would lose digits. `less`: 1 for a sample. */
function deviation(name: string, less: number): Accumulator {
  let count = 0;
  let mean = 0;
  let squares = 0;
  return {
    add(value) {
      if (value === null) return;
      if (!isNumber(value)) throw invalidValue(name, value);
      count++;
      const delta = Number(value) - mean;
      mean += delta / count;
      squares += delta * (Number(value) - mean);
    },
    result: () => (count - less > 0 ? Math.sqrt(squares / (count - less)) : 0),
  };
}
