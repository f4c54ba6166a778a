// holdfast search: finds messages of all sessions by words, and says how to open each of them.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { SearchHit, SearchOptions, SearchResults } from "../../contracts/search.ts";
import { SEARCH_VERBS } from "../../contracts/verbs/search.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { choiceOption, EMBEDDER_OPTION, numberOption } from "../option.ts";
import type { Output } from "../output.ts";
import { snippetLines } from "../snippet.ts";
import { quoted, safe, safeLine, truncate } from "../terminal.ts";
import { formatAge, formatCount, parseDuration } from "../units.ts";

const { role: ROLE, neighbours: NEIGHBOURS } = SEARCH_VERBS.search.params[1].schema.fields;
const LIMIT_DEFAULT = 10;
const INDENT = "    ";

export const search: Command = {
  name: "search",
  summary: "find messages of all sessions by words",
  usage: [
    "search WORD… [--session SESSION] [--agent A] [--role ROLE] [--tool NAME] [--since TIME] [--limit N]",
    "search -- WORD… -WORD '\"A PHRASE\"' BEGINNING* role:ROLE",
    "search WORD… [--request R] [--tag T] [--until TIME] [--rewound] [--per-session N] [--around N] [--embedder E]",
  ],
  description:
    "Finds messages by what they say: texts, tool calls with their arguments, and results of tools. Those with more and " +
    "rarer words of the query come first; the messages around them and their session count too. Words are found in all " +
    'their forms (parse finds parsing). "A phrase" must be there as it is written, pars* matches the beginning of words, ' +
    "and -word leaves messages out that have it (put -- before a query that begins with a minus). role:user, tool:Bash, " +
    "agent:helper, session:ID, request:R and tag:T in a query are the options of the same names; with a minus they " +
    `exclude. ${LOCATOR_HELP}`,
  options: {
    session: { type: "text", value: "SESSION", summary: "only what this session shows, also at a head" },
    request: { type: "text", value: "R", summary: "only sessions of this request" },
    tag: { type: "text", value: "T", summary: "only sessions with this tag" },
    agent: { type: "text", value: "ID", summary: "only this agent's messages" },
    role: { ...choiceOption(ROLE), value: "ROLE", summary: `only messages of this role: ${ROLE.of.join(", ")}` },
    tool: { type: "text", value: "NAME", summary: "only messages that call this tool" },
    since: {
      type: "text",
      value: "TIME",
      summary: "only messages of the last 12h, 3d …, or since a date (2026-11-01)",
    },
    until: { type: "text", value: "TIME", summary: "only messages older than 12h, 3d …, or until a date" },
    rewound: { type: "flag", summary: "also what sessions do not show any more since they were rewound" },
    limit: { type: "number", min: 1, max: 1000, summary: `at most N messages (default ${LIMIT_DEFAULT})` },
    "per-session": { type: "number", min: 1, summary: "at most N messages of one session" },
    ...EMBEDDER_OPTION,
    around: { ...numberOption(NEIGHBOURS), summary: "also print N messages before and after each" },
  },
  operands: [{ name: "WORD", need: "one-or-more" }],
  takesQuery: true,
  examples: [
    { command: "holdfast search database migration", does: "find both words, or one of them" },
    { command: "holdfast search '\"connection reset\"' --since 3d", does: "find a phrase in the last three days" },
    { command: "holdfast search -- migrat* -test", does: "words that begin so, without those that say test" },
    { command: "holdfast search retry --role user --around 1", does: "find what users said, with its context" },
    { command: "holdfast search 'src/open.ts tool:Edit' --json", does: "find edits of a file, for a program" },
  ],
  next: "Each hit ends with the command that opens it. holdfast import-local adds this machine's coding sessions to the store.",
  run: async (context) => {
    const { args, output } = context;
    const query = args.operands.join(" ");
    const options = readOptions(context);
    checkHasWords(query);
    const holdfast = await context.open();
    const session = args.text("session");
    const at = session === undefined ? {} : { session: await locate(holdfast, session) };
    const results = await holdfast.search(query, { ...options, ...at });
    const openings = output.json ? [] : await findOpenings(holdfast, results.hits, query);
    await output.answer(results, () => resultLines(results, openings, output));
    const { noteMeaning } = await import("../embedding-progress.ts");
    await noteMeaning(results, ["passage", "passages"], output);
    if (results.hits.length === 0) await output.note(adviceFor(query, options, session !== undefined));
    else if (results.hits.length === options.limit)
      await output.note(`the best ${formatCount(options.limit)}; \`--limit N\` shows more`);
    return undefined;
  },
};

type Options = Omit<SearchOptions, "session" | "rerank"> & { readonly limit: number };

function readOptions({ args }: Context): Options {
  const text = (name: "request" | "tag" | "agent" | "tool") => {
    const value = args.text(name);
    return value === undefined ? {} : { [name]: value };
  };
  const time = (name: "since" | "until") => {
    const value = args.text(name);
    return value === undefined ? {} : { [name]: readTime(value, `--${name}`) };
  };
  const role = args.choice("role", ROLE.of);
  const [perSession, neighbours] = [args.number("per-session"), args.number("around")];
  return {
    ...text("request"),
    ...text("tag"),
    ...text("agent"),
    ...text("tool"),
    ...time("since"),
    ...time("until"),
    ...(role === undefined ? {} : { role }),
    rewound: args.flag("rewound"),
    limit: args.number("limit") ?? LIMIT_DEFAULT,
    ...(perSession === undefined ? {} : { perSession }),
    ...(neighbours === undefined ? {} : { neighbours }),
  };
}

const DATE = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?$/;

/** How long ago, or a date or time in UTC. */
function readTime(text: string, option: string): number {
  if (!/^\d/.test(text)) throw new UsageError(`${option} takes a time such as 12h, 3d or 2026-11-01, not "${text}"`);
  if (!/^\d{4}-/.test(text)) return Math.max(0, Date.now() - parseDuration(text, option));
  const at = DATE.test(text) ? Date.parse(text.length > 10 && !text.endsWith("Z") ? `${text}Z` : text) : Number.NaN;
  if (Number.isNaN(at)) throw new UsageError(`${option} takes a time such as 12h, 3d or 2026-11-01, not "${text}"`);
  return at;
}

/** Filters and exclusions find nothing by themselves. */
function checkHasWords(query: string): void {
  const words = query.replace(/(?<!\S)-?(role|tool|agent|session|request|tag):("[^"]*"|[^\s"]\S*)/g, "").trim();
  if (words !== "" && !/^(-("[^"]*"|[\p{L}\p{N}]\S*)\s*)+$/u.test(words)) return;
  if (query.trim() === "")
    throw new UsageError("the query is empty; give the words of a message, or the beginning of one (migr*)");
  const how = words === "" ? "has only filters" : "only leaves messages out";
  throw new UsageError(
    `the query ${how}; add a word that the messages have: holdfast search -- ${quoted(`invoice ${query.trim()}`)}. ` +
      "`holdfast messages SESSION --last 10` prints the newest messages of a session",
  );
}

function resultLines({ hits }: SearchResults, openings: readonly string[], output: Output): string[] {
  if (hits.length === 0) return ["no message matches"];
  const now = Date.now();
  return hits.flatMap((hit, index) => [
    ...(index === 0 ? [] : [""]),
    ...hitLines(hit, openings[index] ?? "", now, output),
  ]);
}

/** A line about the message, one about its session, the snippet, and the command that opens it. */
function hitLines(hit: SearchHit, opening: string, now: number, output: Output): string[] {
  const { style, width } = output;
  const author = `${style.strong(hit.role)} ${safe`(${hit.agent})`}`;
  const age = formatAge(hit.at, now);
  // The ids of coding agents' sessions are long.
  const isLong = safeLine(`${hit.id} ${hit.role} (${hit.agent}) ${age}`).length > width;
  const head = `${style.name(safeLine(hit.id))} ${author}${isLong ? "" : ` ${style.faint(age)}`}`;
  const facts = [
    ...(isLong ? [age] : []),
    ...(hit.title === null ? [] : [hit.title]),
    ...(hit.request === null ? [] : [`request ${hit.request}`]),
    ...(hit.snippet.highlights.length === 0 ? [describeMatch(hit)] : []),
    ...(hit.shownIn === null ? ["rewound"] : hit.shownIn === hit.session ? [] : [`shown by the fork ${hit.shownIn}`]),
  ];
  const session = facts.length === 0 ? [] : [style.faint(truncate(safeLine(facts.join(" · ")), width - 2))];
  return [
    head,
    ...session.map((line) => `  ${line}`),
    ...neighbourLines(hit.before ?? [], output),
    ...snippetLines(hit.snippet, width - INDENT.length, style).map((line) => INDENT + line),
    ...neighbourLines(hit.after ?? [], output),
    `  ${style.faint(output.commandLine(opening))}`,
  ];
}

/** Of a hit that has no word of the query: the words are around it, or it means something similar. */
function describeMatch({ signals }: SearchHit): string {
  const hasText = signals.some(({ name, value }) => (name === "text" || name === "session") && value > 0);
  const hasVector = signals.some(({ name, value }) => name === "vector" && value > 0);
  if (!hasVector) return "beside a message that matches";
  return hasText ? "a similar meaning, beside a message that matches" : "a similar meaning";
}

function neighbourLines(neighbours: NonNullable<SearchHit["before"]>, { style, width }: Output): string[] {
  return neighbours.map(({ role, snippet }) =>
    style.faint(truncate(`  ${safeLine(`${role}: ${snippet.text.replace(/\s+/g, " ")}`)}`, width)),
  );
}

/** The commands that print each session from the message on. */
async function findOpenings(holdfast: Holdfast, hits: readonly SearchHit[], query: string): Promise<readonly string[]> {
  const openings: string[] = [];
  for (const hit of hits) openings.push(await findOpening(holdfast, hit, query));
  return openings;
}

async function findOpening(
  holdfast: Holdfast,
  { id, shownIn, session, seq }: SearchHit,
  query: string,
): Promise<string> {
  if (shownIn !== null) {
    const after = shownIn === session ? String(seq - 1) : quoted(`${session}#${seq - 1}`);
    return `messages ${quoted(shownIn)} --after ${after} --limit 5`;
  }
  // The session does not show a rewound message any more; a head that was published after it does.
  const { items: heads } = await holdfast.heads.list(session, { order: "oldest", limit: LIMITS.page });
  for (const head of heads.filter((one) => one.session === session && one.seq >= seq).slice(0, HEADS_TRIED)) {
    const view = await holdfast.sessions.at({ session, head: head.id });
    const [first] = await view.messages({ after: seq - 1, limit: 1 });
    if (first?.id === id)
      return `messages ${quoted(`${session}@${head.id.slice(0, 11)}`)} --after ${seq - 1} --limit 5`;
  }
  return `search ${quoted(query)} --session ${quoted(session)} --rewound --around 2`;
}

/** Of one session, for one hit. */
const HEADS_TRIED = 20;

function adviceFor(query: string, options: Options, isOneSession: boolean): string {
  const filters = ["request", "tag", "agent", "role", "tool", "since", "until"].filter((name) => name in options);
  const words = query.split(/\s+/).filter((word) => /^[\p{L}\p{N}]/u.test(word) && !word.includes(":"));
  return [
    ...(isOneSession || filters.length > 0
      ? [`Leave out ${[...(isOneSession ? ["session"] : []), ...filters].map((name) => `--${name}`).join(", ")}`]
      : []),
    ...(words.length > 0
      ? [`try other words, or the beginning of one (${words[0]?.replace(/\*$/, "").slice(0, 5) ?? ""}*)`]
      : []),
    ...(options.rewound === true ? [] : ["search what was rewound too with --rewound"]),
    "or add this machine's coding sessions with `holdfast import-local`",
  ].join("; ");
}
