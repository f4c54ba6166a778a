// Every verb of the catalogue that names a session (rule SE1): it takes an id, the text of a locator and a locator. A
// head is read from, or refused with a hint. The cases are derived from the declarations, so a new verb is tried as it
// is declared.
import assert from "node:assert/strict";
import { type ErrorCode, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { At } from "../../contracts/locators.ts";
import { CATALOGUE } from "../../contracts/verbs/catalogue.ts";
import type { Fields, Schema, SessionUse, Verb } from "../../contracts/verbs/vocabulary.ts";
import { CALLER_MISTAKES } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { callVerb, makeExamples, memberOf, type NounName } from "./hostile-catalogue.ts";
import { plain } from "./hostile-values.ts";
import { type Examples, exampleArguments } from "./hostile-verbs.ts";

/** Verbs that read a session and refuse a head, because what they read is no part of one. */
const REFUSE_HEADS = ["sessions.get", "sessions.export", "log.tail", "check.check"];

/** A parameter or a field of one, by its name. */
interface SessionName {
  readonly name: string;
  readonly use: SessionUse;
}

function sessionNames({ params }: Verb): readonly SessionName[] {
  return params.flatMap(({ name, schema }) => {
    const fields: Fields = schema.kind === "record" ? schema.fields : { [name]: schema };
    return Object.entries(fields).flatMap(([field, inner]) =>
      inner.kind === "session" ? [{ name: field, use: inner.use }] : [],
    );
  });
}

/** Ids that name a session where a locator could: the id of a new session, and what an anchor says of itself. */
const IDS_OF_SESSIONS = [
  "runs.fork: fork.session",
  "log.verify: options.from.session",
  "log.verify: options.anchor.session",
];

function bareIds(schema: Schema, path: string): readonly string[] {
  if (schema.kind !== "record") return schema.kind === "id" && /\b(session|at|caller)$/.test(path) ? [path] : [];
  return Object.entries(schema.fields).flatMap(([field, inner]) => bareIds(inner, `${path}.${field}`));
}

interface Ground {
  readonly session: string;
  readonly other: string;
  readonly head: string;
}

let made = 0;

/** Sessions that no other call has changed. */
async function makeGround(store: Holdfast): Promise<Ground> {
  const [session, other] = [`s${++made}`, `o${made}`];
  await store.sessions.create({ id: other });
  await store.history.append({ session, agent: "a" }, { role: "user", content: "hi" });
  return { session, other, head: (await store.heads.publish(session)).id };
}

type Outcome = { readonly code: ErrorCode | null; readonly message: string; readonly hint: string };

class SessionProof {
  readonly failures: string[] = [];
  readonly #store: Holdfast;
  readonly #noun: NounName;
  readonly #examples: Examples;

  constructor(store: Holdfast, noun: NounName, examples: Examples) {
    this.#store = store;
    this.#noun = noun;
    this.#examples = examples;
  }

  async try(verbName: string, verb: Verb, { name, use }: SessionName): Promise<void> {
    const what = `${this.#noun}.${verbName}(${name})`;
    const { storeId } = this.#store.info;
    const forms: readonly ((ground: Ground) => At)[] = [
      ({ session }) => session,
      ({ session }) => `holdfast:#${session}`,
      ({ session }) => ({ session }),
      ({ session }) => ({ store: storeId, session }),
    ];
    const isMistake = ({ code }: Outcome) => (CALLER_MISTAKES as readonly (string | null)[]).includes(code);
    // A rewind goes back to a head.
    for (const form of verbName === "rewind" ? [] : forms) {
      const outcome = await this.#outcome(verbName, verb, name, form);
      if (isMistake(outcome) || outcome.code === "NotFound") this.#fail(`${what} does not take a locator`, outcome);
    }
    const foreign = await this.#outcome(verbName, verb, name, ({ session }) => ({ store: "elsewhere", session }));
    if (foreign.code !== "InvalidArgument") this.#fail(`${what} takes a session of another store`, foreign);
    const isHonoured = use === "locator" && !REFUSE_HEADS.includes(`${this.#noun}.${verbName}`);
    const withHead: readonly ((ground: Ground) => At)[] = [
      ({ session, head }) => `${session}@${head}`,
      ({ session, head }) => ({ session, head }),
    ];
    for (const form of withHead) {
      const outcome = await this.#outcome(verbName, verb, name, form);
      const isRefused = outcome.code === "InvalidArgument" && /head/.test(outcome.message) && outcome.hint !== "";
      if (isHonoured ? isMistake(outcome) : !isRefused) this.#fail(`${what} at a head`, outcome);
    }
  }

  #fail(what: string, { code, message }: Outcome): void {
    this.failures.push(`${what}: ${code ?? "accepted"} ${message}`);
  }

  async #outcome(verbName: string, verb: Verb, name: string, form: (ground: Ground) => At): Promise<Outcome> {
    const ground = await makeGround(this.#store);
    const { session, other, head } = ground;
    const named = { ...this.#examples.named, session, at: session, a: session, b: other, caller: other };
    const examples: Examples = {
      ...this.#examples,
      named: { ...named, [name]: form(ground) },
      formed: { ...this.#examples.formed, head, rowId: `${session}#2` },
      absent: [...this.#examples.absent, "fork.message", "options.anchor", "eval.turn", "eval.message", "options.turn"],
    };
    try {
      await callVerb(verb, memberOf(this.#store, this.#noun, verbName), exampleArguments(verb, examples).map(plain));
      return { code: null, message: "", hint: "" };
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      return { code: error.code, message: error.message, hint: error.hint ?? "" };
    }
  }
}

async function everySessionName(store: Holdfast, noun: NounName): Promise<void> {
  const proof = new SessionProof(store, noun, await makeExamples(store));
  for (const [name, verb] of Object.entries<Verb>(CATALOGUE[noun])) {
    for (const param of verb.params)
      for (const id of bareIds(param.schema, param.name))
        if (!IDS_OF_SESSIONS.includes(`${noun}.${name}: ${id}`))
          proof.failures.push(`${noun}.${name}: ${id} takes an id and no locator`);
    for (const one of sessionNames(verb)) await proof.try(name, verb, one);
  }
  if (proof.failures.length > 0) assert.fail(`${proof.failures.length} failures:\n${proof.failures.join("\n")}`);
}

const NOUNS = (Object.keys(CATALOGUE) as NounName[]).filter((noun) =>
  Object.values<Verb>(CATALOGUE[noun]).some((verb) => sessionNames(verb).length > 0),
);

export const sessionNameCases: readonly Case[] = NOUNS.map((noun) =>
  prove(
    `SE1 every verb of the catalogue, ${noun}: a session is named by its id or a locator, and no head is ignored`,
    ["lineage"],
    // A store that offers the lineage offers every noun.
    (given) => everySessionName(given.lineage as Holdfast, noun),
  ),
);
