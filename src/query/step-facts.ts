// The facts of a run's steps. Steps have no table: an event begins a step, and another may end it. Inputs and
// results have a ref and a size; their text cannot be queried.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import { type Attribute, derived, facts, identity, instant, type Source, to } from "./facts.ts";

const ENDS = "('step/done', 'step/failed')";

/** A field of the step: the event of a message has the step's fields in data.step, other events have them in data. */
const field = (a: string, own: SqlFragments, name: string) =>
  `CASE WHEN ${a}.type = 'message/added' THEN ${own.jsonField(`${a}.body`, "data", "step", name)} ` +
  `ELSE ${own.jsonField(`${a}.body`, "data", name)} END`;

/** Events that begin a step: its intent, or its end if it needs no intent. Other events name the step by its seq. */
const STEPS: Source = {
  table: "events",
  entity: ["session_no", "seq"],
  unique: ["session_no", "seq"],
  where: (a, own) =>
    `${a}.run IS NOT NULL AND ${a}.erased_seq IS NULL ` +
    `AND ${a}.type IN ('step/started', 'step/done', 'step/failed', 'message/added') AND ${field(a, own, "path")} IS NOT NULL`,
};

/** The first event of these types that names the step; for a step without an intent, the event itself. */
const later = (a: string, own: SqlFragments, types: string, column: string) =>
  `(SELECT ${column} FROM events e LEFT JOIN blobs b ON b.no = e.content WHERE e.session_no = ${a}.session_no ` +
  `AND e.run = ${a}.run AND e.erased_seq IS NULL AND e.seq > ${a}.seq AND e.type IN ${types} ` +
  `AND CAST(${own.jsonField("e.body", "data", "step")} AS ${own.text}) = CAST(${a}.seq AS ${own.text}) ORDER BY e.seq LIMIT 1)`;

const ended = (a: string, own: SqlFragments, column: string, itself: string) =>
  `CASE WHEN ${a}.type = 'step/started' THEN ${later(a, own, ENDS, column)} ELSE ${itself} END`;

const size = (a: string, blob: string) => `CASE WHEN ${a}.content IS NULL THEN length(${a}.words) ELSE ${blob} END`;
const ownSize = (a: string) => size(a, `(SELECT size FROM blobs WHERE no = ${a}.content)`);

const number = (name: string) => derived("int", (a, own) => `CAST(${field(a, own, name)} AS ${own.int})`);
const word = (name: string) => derived("text", (a, own) => field(a, own, name));

/** A field of the event that begins the step, for steps with an intent and for messages. */
const given = (a: string, what: string) => `CASE WHEN ${a}.type IN ('step/started', 'message/added') THEN ${what} END`;
/** A field of the event that ends the step. */
const gave = (a: string, own: SqlFragments, column: string, what: string) =>
  `CASE WHEN ${a}.type = 'message/added' THEN NULL ELSE ${ended(a, own, column, what)} END`;

const STATUS = (a: string, own: SqlFragments) =>
  `CASE ${a}.type WHEN 'step/started' THEN coalesce(substr(${later(a, own, ENDS, "e.type")}, 6), ` +
  `CASE WHEN ${own.jsonField(`${a}.body`, "data", "approval")} IS NULL THEN 'started' ` +
  `WHEN ${later(a, own, "('step/begun')", "e.seq")} IS NULL THEN 'asked' ELSE 'started' END) ` +
  `WHEN 'step/failed' THEN 'failed' ELSE 'done' END${own.collate}`;

export const stepAttributes = (): readonly Attribute[] =>
  facts("step", STEPS, {
    id: identity("step", ["session_no", "seq"]),
    session: to("session", "session_no"),
    run: to("run", "run"),
    event: to("event", "session_no", "seq"),
    iteration: number("iteration"),
    path: word("path"),
    kind: { ...word("kind"), type: { is: "keyword" } },
    name: word("name"),
    attempt: number("attempt"),
    "idempotency-key": word("key"),
    status: derived("keyword", STATUS),
    "started-at": instant("at"),
    "ended-at": derived("instant", (a, own) => ended(a, own, "e.at", `${a}.at`)),
    "error-code": derived("text", (a, own) =>
      ended(
        a,
        own,
        own.jsonField("e.body", "data", "error", "code"),
        own.jsonField(`${a}.body`, "data", "error", "code"),
      ),
    ),
    "input-ref": { ...derived("ref", (a) => given(a, `${a}.sha256`)) },
    "input-size": derived("int", (a) => given(a, ownSize(a))),
    "result-ref": derived("ref", (a, own) => gave(a, own, "e.sha256", `${a}.sha256`)),
    "result-size": derived("int", (a, own) => gave(a, own, size("e", "b.size"), ownSize(a))),
  });
