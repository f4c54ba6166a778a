// Finds the causes of an event: rows that its data names, the open turn, and in other sessions the invocation or the
// source. It reads the log and small columns, never a payload.
import type { Json, JsonObject } from "../contracts/json.ts";
import type { LogEvent } from "../contracts/log.ts";
import type { HeadRow, InvocationRow } from "../contracts/storage/lineage-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TraceName } from "../contracts/trace.ts";
import { jsonObject, plainObject } from "../core/decode.ts";
import { rootOf } from "../core/head.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { firstSeq } from "./event-row.ts";

/** A cause, and the event that wrote it. */
export interface Cause extends TraceName {
  readonly event: string;
}

/** Reads what causes need, and caches it. */
export class CauseReader {
  readonly #storage: Storage;
  readonly #heads = new Map<string, HeadRow | null>();
  readonly #runs = new Map<string, Cause | null>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** `turn` is the turn that was open at the event. */
  async of(event: LogEvent, turn: number | null): Promise<readonly Cause[]> {
    const found = await this.#of(event, turn);
    return found.filter((cause): cause is Cause => cause !== null);
  }

  /** The turn that began last on the branch and had not ended before the seq. */
  async openTurn(session: string, branch: number, seq: number): Promise<number | null> {
    const [turn] = await this.#storage.query("trace.turn", { session, branch, seq });
    return turn === undefined || (turn.ended !== null && turn.ended < seq) ? null : turn.first_seq;
  }

  async #of(event: LogEvent, open: number | null): Promise<readonly (Cause | null)[]> {
    const { session, data, type } = event;
    const row = (kind: string, seq: Json | undefined | null) =>
      typeof seq === "number" ? named(kind, rowId(session, seq)) : null;
    const turn = row("turn", data.turn ?? open);
    // The error of an invocation names it.
    if (type === "annotation") return [row("invocation", data.invocation), turn];
    switch (type.slice(0, type.indexOf("/"))) {
      case "session":
        return type === "session/created" ? this.#birth(event) : [];
      case "eval":
        return [row("eval", data.eval), row("message", data.message), turn];
      case "message":
        return [row("call", data.call), turn, await this.#run(event.run)];
      case "call":
        return [row("call", data.call), turn, await this.#run(event.run)];
      case "head":
      case "branch":
        if (type === "head/created") return this.#published(event);
        // A rewind is also caused by where it was before.
        return [
          await this.#cause(data.head),
          await this.#cause(data.was),
          row("event", plainObject.read(data.from)?.seq),
        ];
      case "derivation":
        return [await this.#source(plainObject.read(data.source))];
      case "invocation":
        return this.#invocation(event, turn);
      case "run":
      case "step":
      case "iteration":
      case "checkpoint":
        return this.#ofRun(event, row("step", data.step));
      case "alias":
      case "turn":
        return [];
      default:
        return [turn, await this.#run(event.run)];
    }
  }

  /** null also if its session was erased. */
  async head(id: Json | undefined): Promise<HeadRow | null> {
    if (typeof id !== "string") return null;
    const known = this.#heads.get(id);
    if (known !== undefined) return known;
    const [head = null] = await this.#storage.query("head.get", { id });
    this.#heads.set(id, head);
    return head;
  }

  /**
   * The step of the event and a person's answer about it, or the run; for the end of a run also the last event before
   * it.
   */
  async #ofRun(event: LogEvent, step: Cause | null): Promise<readonly (Cause | null)[]> {
    const { session, seq, type, data, run } = event;
    if (type === "run/created") {
      const of = data.parent ?? plainObject.read(data.from)?.run;
      return [await this.#run(of)];
    }
    if (step !== null) return [step, await this.#decision(event, Number(data.step))];
    const begun = await this.#run(run);
    const isEnd = /^(iteration\/complete|run\/(completed|failed|cancelled))$/.test(type);
    return [begun, isEnd ? named("event", rowId(session, seq - 1)) : null];
  }

  /** The last question or answer about the step before the event. */
  async #decision({ session, seq }: LogEvent, step: number): Promise<Cause | null> {
    const [decision] = await this.#storage.query("decision.get", { session, step });
    const places = [decision?.answered_seq ?? null, decision?.seq ?? null];
    const last = places.find((place) => place !== null && place < seq) ?? null;
    return last === null ? null : named("decision", rowId(session, last));
  }

  /** null also if the run was deleted. */
  async #run(id: Json | undefined): Promise<Cause | null> {
    if (typeof id !== "string") return null;
    const known = this.#runs.get(id);
    if (known !== undefined) return known;
    const [row] = await this.#storage.query("run.get", { id });
    const cause = row === undefined ? null : { kind: "run", id, event: rowId(row.session, row.first_seq) };
    this.#runs.set(id, cause);
    return cause;
  }

  /** A head is named by its own event. */
  async #cause(id: Json | undefined): Promise<Cause | null> {
    const head = await this.head(id);
    return head === null ? null : { kind: "head", id: head.id, event: rowId(head.session, head.seq) };
  }

  /** The head, or (without a head) the event that the session continues. */
  async #source(source: JsonObject | undefined): Promise<Cause | null> {
    const { session, seq, head } = source ?? {};
    const place = typeof session === "string" && typeof seq === "number" ? named("event", rowId(session, seq)) : null;
    return (await this.#cause(head)) ?? place;
  }

  /**
   * The causes of a head: the turn that it ends, the head before it, what was stored with it, and the last event before
   * it.
   */
  async #published({ session, seq, data }: LogEvent): Promise<readonly (Cause | null)[]> {
    const head = await this.head(data.head);
    const basis = await this.#cause(head?.basis ?? undefined);
    const stored = [
      ...(head?.snapshot_seq == null ? [] : [{ kind: "snapshot", seq: head.snapshot_seq }]),
      ...summaryOf(session, head, basis),
    ];
    const last = Math.min(seq, ...stored.map((one) => one.seq)) - 1;
    const causes = [
      typeof data.turn === "number" ? named("turn", rowId(session, data.turn)) : null,
      // The first event of a fork is caused by the source of the fork.
      basis ?? (await this.#origin(session)),
      ...stored.map((one) => named(one.kind, rowId(session, one.seq))),
    ];
    const event = named("event", rowId(session, last));
    return causes.some((cause) => cause?.event === event.event) ? causes : [...causes, event];
  }

  /** The source of a session is in the event that follows its creation. */
  async #origin(session: string): Promise<Cause | null> {
    const [made] = await this.#storage.query("events.read", { session, after: 1, limit: 1 });
    if (made?.type !== "derivation/added") return null;
    return this.#source(plainObject.read(plainObject.read(jsonObject.read(made.body)?.data)?.source));
  }

  async #birth({ session, data }: LogEvent): Promise<readonly (Cause | null)[]> {
    const made = await this.#source(plainObject.read(data.from));
    if (data.kind === undefined) return [made];
    const [caller] = await this.#storage.query("trace.invokedBy", { session });
    return [made, caller === undefined ? null : named("invocation", rowId(caller.session, caller.first_seq))];
  }

  async #invocation(event: LogEvent, turn: Cause | null): Promise<readonly (Cause | null)[]> {
    const first = firstSeq(event, "invocation");
    const [row]: readonly InvocationRow[] = await this.#storage.query("invocation.get", {
      session: event.session,
      first,
    });
    if (event.type !== "invocation/started") {
      const begun = first === event.seq ? null : named("invocation", rowId(event.session, first));
      return [begun, await this.#cause(row?.callee_after ?? undefined)];
    }
    if (row === undefined) return [turn];
    const call = row.call_seq === null ? turn : named("call", rowId(event.session, row.call_seq));
    const heads = [row.caller_before, row.source_head].map((id) => this.#cause(id ?? undefined));
    return [call, ...(await Promise.all(heads))];
  }
}

/** The summary that a compaction wrote with this head; a summary that the head inherited from its basis is older. */
function summaryOf(
  session: string,
  head: HeadRow | null,
  basis: Cause | null,
): readonly { kind: string; seq: number }[] {
  const compaction = head === null ? null : rootOf(head).compaction;
  if (compaction === null) return [];
  const { session: of, seq } = parseRowId(compaction.summary, "compaction.summary");
  const before = basis === null ? 0 : parseRowId(basis.event, "event").seq;
  return of === session && seq > before ? [{ kind: "message", seq }] : [];
}

/** Rows of a session's log are named by the event that wrote them first. */
function named(kind: string, id: string): Cause {
  return { kind, id, event: id };
}
