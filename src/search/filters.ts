// What a search may find: its options, and the filters in the text of its query. An option and a filter of the same field must both
// hold; several filters of one field are alternatives.
import type { Message } from "../contracts/messages.ts";
import type { SearchOptions } from "../contracts/search.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { messageTimeOf } from "../core/message-time.ts";
import { MESSAGE_FIELDS } from "./index/message-item.ts";
import { ROLES } from "./index/reader.ts";
import { toMinutes } from "./index/unit-table.ts";
import type { FieldValues, ItemSelection } from "./ranking/rank-items.ts";
import type { SearchQuery } from "./text/query.ts";

/** The names that may stand before a colon in a query. */
export const FILTER_FIELDS = ["role", "tool", "agent", "session", "request", "tag"] as const;
type FilterField = (typeof FILTER_FIELDS)[number];

type FilterOptions = Pick<SearchOptions, "request" | "tag" | "agent" | "role" | "tool" | "since" | "until">;

export interface MessageFilter {
  /** For the index: it lets pass what `isAllowed` refuses, where it is coarser than the message. */
  readonly selection: ItemSelection;
  isAllowed(message: Message): boolean;
  /** Whether a message may count for the messages beside it: also of another role, but of no other agent. */
  isAllowedBeside(message: Pick<Message, "agent">): boolean;
  /** The agents that it asks for. An exclusion may exclude others too, with long ids that begin alike. */
  readonly agents: readonly FieldValues[];
}

/** One of the values; with `isExcluded`, none of them. */
interface Condition {
  readonly field: FilterField;
  readonly values: readonly string[];
  readonly isExcluded: boolean;
}

/** `logs`: the numbers of the logs to search; null: all. */
export async function readMessageFilter(
  storage: Storage,
  options: FilterOptions,
  query: SearchQuery,
  logs: ReadonlySet<number> | null,
): Promise<MessageFilter> {
  const conditions = conditionsOf(options, query);
  const { since = 0, until = Number.MAX_SAFE_INTEGER } = options;
  const sessions = await Promise.all(
    conditions.map(async ({ field, values, isExcluded }) => ({
      isExcluded,
      numbers: await sessionNumbers(storage, field, values),
    })),
  );
  const allowsLog = (no: number) =>
    (logs === null || logs.has(no)) &&
    sessions.every(({ numbers, isExcluded }) => numbers === null || numbers.has(no) !== isExcluded);
  const hasLogs = logs !== null || sessions.some(({ numbers }) => numbers !== null);
  const roles = conditions.filter(({ field }) => field === "role");
  return {
    selection: {
      ...(hasLogs ? { groups: allowsLog } : {}),
      ...(roles.length === 0 ? {} : { flags: flagsOf(roles) }),
      ...(options.since === undefined ? {} : { since: toMinutes(since) }),
      ...(options.until === undefined ? {} : { until: toMinutes(until) }),
      fields: conditions.flatMap(fieldOf),
    },
    isAllowed(message) {
      const at = messageTimeOf(message);
      return at >= since && at <= until && conditions.every((condition) => fulfils(message, condition));
    },
    isAllowedBeside: ({ agent }) =>
      conditions.every((condition) => condition.field !== "agent" || hasValue(condition, agent)),
    agents: conditions
      .filter(({ field }) => field === "agent")
      .map(({ values, isExcluded }) => ({ field: MESSAGE_FIELDS.agent, values, isExcluded })),
  };
}

function conditionsOf(options: FilterOptions, { filters }: SearchQuery): readonly Condition[] {
  const conditions: Condition[] = [];
  for (const field of FILTER_FIELDS) {
    const option = field === "session" ? undefined : options[field];
    if (option !== undefined) conditions.push({ field, values: [option], isExcluded: false });
    for (const isExcluded of [false, true]) {
      const found = filters.filter((one) => one.field === field && one.isExcluded === isExcluded);
      if (found.length > 0) conditions.push({ field, values: found.map(({ value }) => value), isExcluded });
    }
  }
  return conditions;
}

/** The sessions that a condition names; null: it is no condition on sessions. */
async function sessionNumbers(
  storage: Storage,
  field: FilterField,
  values: readonly string[],
): Promise<ReadonlySet<number> | null> {
  if (field !== "session" && field !== "request" && field !== "tag") return null;
  const found = await Promise.all(values.map((value) => numbersOf(storage, field, value)));
  return new Set(found.flat());
}

const PAGE = 1000;

async function numbersOf(
  storage: Storage,
  field: "session" | "request" | "tag",
  value: string,
): Promise<readonly number[]> {
  // A text with a NUL is no id, and PostgreSQL refuses it.
  if (value.includes("\0")) return [];
  if (field === "session") {
    const [byId] = await storage.query("session.get", { id: value });
    const [found] = byId === undefined ? await storage.query("session.byAlias", { name: value }) : [byId];
    return found === undefined ? [] : [found.no];
  }
  const numbers: number[] = [];
  const range = { status: null, createdAfter: 0, createdBefore: Number.MAX_SAFE_INTEGER, limit: PAGE };
  for (let last = Number.MAX_SAFE_INTEGER; ; last = numbers.at(-1) ?? 0) {
    const rows =
      field === "request"
        ? await storage.query("sessions.byRequest", { ...range, last, request: value })
        : await storage.query("sessions.byTag", { ...range, last, tag: value });
    numbers.push(...rows.map(({ no }) => no));
    if (rows.length < PAGE) return numbers;
  }
}

function flagsOf(conditions: readonly Condition[]): ReadonlySet<number> {
  const roles = ROLES.filter((role) => conditions.every((condition) => hasValue(condition, role)));
  return new Set(roles.map((role) => ROLES.indexOf(role)));
}

function hasValue({ values, isExcluded }: Condition, value: string): boolean {
  return values.includes(value) !== isExcluded;
}

/** Entries of long values are shared, so that excluding by them could exclude too much. */
function fieldOf({ field, values, isExcluded }: Condition): readonly FieldValues[] {
  if (isExcluded || (field !== "tool" && field !== "agent")) return [];
  return [{ field: MESSAGE_FIELDS[field], values, isExcluded: false }];
}

function callsTool({ content }: Message, names: readonly string[]): boolean {
  return content.some((block) => block.type === "tool_use" && names.includes(block.name));
}

function fulfils(message: Message, condition: Condition): boolean {
  switch (condition.field) {
    case "role":
      return hasValue(condition, message.role);
    case "agent":
      return hasValue(condition, message.agent);
    case "tool":
      return callsTool(message, condition.values) !== condition.isExcluded;
    default:
      return true;
  }
}
