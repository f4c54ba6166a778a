// Binds implementations to the catalogue: a bound verb first checks its arguments and finds its session as the verb
// declares, and then calls the implementation. Errors are not thrown synchronously: the promise rejects, and a stream
// fails when it is read. Only a synchronous verb throws.
import type { Param, SessionUse, ValuesOf, Verb } from "../contracts/verbs/vocabulary.ts";
import { copyArguments } from "./argument-copy.ts";
import { type Check, type CodeChecks, checkFor } from "./arguments.ts";
import { checkId } from "./check.ts";
import type { SessionLookup } from "./session-lookup.ts";

type AnyFunction = (...args: readonly unknown[]) => unknown;
type Answer<F> = F extends (...args: never[]) => infer R ? R : never;

/** The implementations of a noun's verbs. Each gets checked arguments. */
export type Rules<Noun, Verbs> = {
  readonly [K in keyof Verbs & keyof Noun]: Verbs[K] extends Verb
    ? (...args: ValuesOf<Verbs[K]>) => Answer<Noun[K]>
    : never;
};

/**
 * Makes the noun whose verbs `verbs` declares and `rules` implements. If no verb takes a session, `lookup` is not
 * needed; if no verb takes code, `code` is not needed.
 */
export function bindVerbs<Noun, const Verbs extends Readonly<Record<string, Verb>>>(
  verbs: Verbs,
  lookup: SessionLookup | null,
  rules: Rules<NoInfer<Noun>, Verbs>,
  code?: CodeChecks,
): Noun {
  const implementations = rules as unknown as Readonly<Record<string, AnyFunction>>;
  const bound = Object.entries(verbs).map(([name, verb]) => {
    const rule = implementations[name];
    if (rule === undefined) throw new Error(`bug: nothing implements ${name}`);
    return [name, verb.kind === "stream" ? bindStream(verb, lookup, rule) : bindCall(verb, lookup, rule, code)];
  });
  return Object.fromEntries(bound) as Noun;
}

function bindCall(verb: Verb, lookup: SessionLookup | null, rule: AnyFunction, code?: CodeChecks): AnyFunction {
  const check = argumentCheck(verb, code);
  const sessions = sessionArguments(verb, lookup);
  return (...args) => {
    try {
      const values = check(args);
      let pending: readonly PendingLookup[] = NONE;
      for (const argument of sessions) {
        const found = argument.find(values);
        if (found instanceof Promise) pending = [...pending, { argument, found }];
        else if (found !== undefined) argument.put(values, found);
      }
      return pending === NONE ? rule(...values) : afterLookup(rule, values, pending);
    } catch (error) {
      if (verb.kind === "local") throw error;
      return Promise.reject(error);
    }
  };
}

interface PendingLookup {
  readonly argument: SessionArgument;
  readonly found: Promise<unknown>;
}

const NONE: readonly PendingLookup[] = [];

/**
 * The caller may change its objects while the session is looked up, so the rule gets the values of the time of the
 * call.
 */
async function afterLookup(
  rule: AnyFunction,
  values: readonly unknown[],
  pending: readonly PendingLookup[],
): Promise<unknown> {
  const copies = [...copyArguments(values)];
  const sessions = await Promise.all(pending.map(({ found }) => found));
  for (const [i, { argument }] of pending.entries()) argument.put(copies, sessions[i]);
  return rule(...copies);
}

function bindStream(verb: Verb, lookup: SessionLookup | null, rule: AnyFunction): AnyFunction {
  const check = argumentCheck(verb);
  const sessions = sessionArguments(verb, lookup);
  return (...args) => {
    try {
      const values = check(args);
      for (const argument of sessions) {
        const [...copies] = copyArguments(values);
        argument.put(values, async () => argument.find(copies));
      }
      return rule(...values);
    } catch (error) {
      return new FailedStream(error);
    }
  };
}

class FailedStream implements AsyncIterableIterator<never> {
  readonly #error: unknown;

  constructor(error: unknown) {
    this.#error = error;
  }

  next(): Promise<IteratorResult<never>> {
    return Promise.reject(this.#error);
  }

  async return(): Promise<IteratorResult<never>> {
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

interface ParamCheck {
  readonly name: string;
  readonly check: Check;
  /** The value for an argument that is not given: an empty record, filled with the fallbacks of its fields. */
  readonly absent: unknown;
}

function paramCheck({ name, schema }: Param, code: CodeChecks | undefined): ParamCheck {
  const check = checkFor(schema, code);
  const isAbsentRecord = schema.kind === "record" && schema.optional === true;
  return { name, check, absent: isAbsentRecord ? Object.freeze(check({}, name)) : undefined };
}

function argumentCheck({ params }: Verb, code?: CodeChecks): (args: readonly unknown[]) => unknown[] {
  let checks: readonly ParamCheck[] | null = null;
  return (args) => {
    checks ??= params.map((one) => paramCheck(one, code));
    // Allocated with its final length: an array that grows reserves sixteen items.
    const values: unknown[] = new Array(checks.length);
    for (let i = 0; i < checks.length; i++) {
      const { name, check, absent } = checks[i] as ParamCheck;
      const given = args[i];
      values[i] = given === undefined && absent !== undefined ? absent : check(given, name);
    }
    return values;
  };
}

/** An argument, or a field of one, that names a session. */
interface SessionArgument {
  find(values: readonly unknown[]): unknown;
  put(values: unknown[], session: unknown): void;
}

function sessionArguments({ params }: Verb, lookup: SessionLookup | null): readonly SessionArgument[] {
  return params.flatMap(({ name, schema }, index): SessionArgument[] => {
    if (schema.kind === "session") {
      const find = finder(lookup, name, schema);
      return [
        {
          find: (values) => find(values[index]),
          put: (values, session) => {
            values[index] = session;
          },
        },
      ];
    }
    if (schema.kind !== "record") return [];
    return Object.entries(schema.fields).flatMap(([field, inner]): SessionArgument[] => {
      if (inner.kind !== "session") return [];
      const find = finder(lookup, field, inner);
      return [
        {
          find: (values) => find((values[index] as Readonly<Record<string, unknown>>)[field]),
          put: (values, session) => {
            // The check made this object for this call.
            (values[index] as Record<string, unknown>)[field] = session;
          },
        },
      ];
    });
  });
}

interface SessionParam {
  readonly use: SessionUse;
  readonly optional?: true;
  readonly action?: string;
  readonly hint?: string;
}

function finder(
  lookup: SessionLookup | null,
  name: string,
  { use, optional, action = "", hint }: SessionParam,
): (given: unknown) => unknown {
  if (lookup === null) throw new Error("bug: nothing looks up the sessions of this noun");
  const { locate, requireCurrent, resolveSessionId } = lookup;
  const find = (given: unknown): unknown => {
    if (use === "locator") return locate(given);
    if (use === "id") return resolveSessionId(given, action, hint);
    const id = requireCurrent(given, action, hint);
    return id instanceof Promise ? id.then((found) => checkId(found, name)) : checkId(id, name);
  };
  return optional === true ? (given) => (given === undefined ? undefined : find(given)) : find;
}
