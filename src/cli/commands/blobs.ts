// holdfast blobs: stores, lists, reads and deletes content-addressed bytes.
import type { BlobReferrer, BlobStat, Blobs } from "../../contracts/blobs.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { BLOB_VERBS } from "../../contracts/verbs/blobs.ts";
import { type BytesOut, blobSource, decodeText, fileOut, isTextType, mediaTypeOf } from "../bytes.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { choiceOption, pageOptions } from "../option.ts";
import type { Output } from "../output.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { safe, safeLine, safeText, wrap } from "../terminal.ts";
import { formatAge, formatBytes, formatSpan, formatTime, parseDurationOrNever } from "../units.ts";

const REF = [{ name: "REF", need: "required" }] as const;

const put: Command = {
  name: "put",
  summary: "store a file or standard input, and print its ref",
  usage: ["blobs put FILE|- [--media-type TYPE] [--pin] [--ttl TIME]"],
  description:
    "Stores bytes and prints their ref, which is their SHA-256: the same bytes are stored once. An unpinned blob that " +
    "no message refers to expires after 7 days, or after --ttl. UTF-8 with a media type text/* or application/json is " +
    "stored as text (up to 1 MiB), everything else as binary.",
  options: {
    "media-type": { type: "text", value: "TYPE", summary: "the media type (default: by the file's extension)" },
    pin: { type: "flag", summary: "keep the blob until it is unpinned" },
    ttl: { type: "text", value: "TIME", summary: "how long to keep the blob: 90s, 15m, 12h, 7d or never" },
  },
  operands: [{ name: "FILE", need: "required" }],
  examples: [
    { command: "holdfast blobs put report.pdf --pin", does: "keep it until it is unpinned" },
    { command: "tar c src | holdfast blobs put - --ttl 1d", does: "store standard input for a day" },
  ],
  next: "holdfast blobs get REF prints it; holdfast blobs stat REF shows how it is stored.",
  run: async (context) => {
    const { args, io, output } = context;
    const file = args.operand(0);
    const options = readStoreOptions(context, file);
    const holdfast = await context.open();
    const ref = await holdfast.blobs.store(await blobSource(file, options.mediaType, io), options);
    if (args.flag("pin")) await holdfast.blobs.pin(ref);
    const stat = await needStat(holdfast, ref);
    // Only the ref on stdout: `ref=$(holdfast blobs put file)`.
    await output.answer(stat, () => [ref]);
    await output.note(`${formatBytes(stat.size)}, ${stat.mediaType}, ${describeLifetime(stat)}`);
    return undefined;
  },
};

function readStoreOptions({ args }: Context, file: string): NonNullable<Parameters<Blobs["store"]>[1]> {
  const ttl = args.text("ttl");
  const ttlMs = ttl === undefined ? {} : { ttlMs: parseDurationOrNever(ttl, "--ttl") };
  const mediaType = args.text("media-type") ?? mediaTypeOf(file);
  return { ...(mediaType === undefined ? {} : { mediaType }), ...ttlMs };
}

function describeLifetime(stat: BlobStat): string {
  if (stat.pinned) return "pinned";
  if (stat.references > 0) return "kept while rows refer to it";
  if (stat.expiresAt === null) return "never expires";
  return `expires in ${formatSpan(stat.expiresAt - Date.now())} unless it is pinned or used`;
}

const get: Command = {
  name: "get",
  summary: "read a blob, to a file or to standard output",
  usage: ["blobs get REF [--out FILE]"],
  description:
    "Streams a blob and verifies its hash on the way. With --out, the file appears only when the whole blob was verified. " +
    "On a terminal, control characters in text are escaped and binary data is refused. --json without --out prints the content inside " +
    "the document: text as it is, other bytes as base64.",
  options: { out: { type: "text", short: "o", value: "FILE", summary: "write the blob to this file" } },
  operands: REF,
  examples: [
    { command: "holdfast blobs get sha256:9f86d0… --out report.pdf", does: "write to a file (give the whole ref)" },
    { command: "holdfast blobs get sha256:9f86d0… | tar t", does: "write to a pipe" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const ref = readRef(context);
    const out = args.text("out");
    const holdfast = await context.open();
    if (out !== undefined) {
      const size = await copy(holdfast, ref, await fileOut(out, context.io));
      await output.answer({ ref, size, file: out }, () => [safe`wrote ${formatBytes(size)} to ${out}`]);
    } else if (output.json) {
      await output.document(await readContent(holdfast, ref));
    } else {
      await print(holdfast, ref, context);
    }
    return undefined;
  },
};

async function copy(holdfast: Holdfast, ref: string, out: BytesOut): Promise<number> {
  let size = 0;
  try {
    for await (const piece of holdfast.blobs.stream(ref)) {
      await out.write(piece);
      size += piece.byteLength;
    }
  } catch (error) {
    await out.discard();
    throw error;
  }
  await out.finish();
  return size;
}

async function readContent(holdfast: Holdfast, ref: string): Promise<Record<string, unknown>> {
  const bytes = Buffer.from(await holdfast.blobs.resolve(ref));
  const { mediaType, encoding } = await needStat(holdfast, ref);
  // Text may also be stored as bytes: large texts, and texts that a program stored so.
  const text = encoding === "utf-8" || isTextType(mediaType) ? decodeText(bytes) : undefined;
  const content = text === undefined ? { base64: bytes.toString("base64") } : { text };
  return { ref, size: bytes.byteLength, mediaType, encoding, ...content };
}

async function print(holdfast: Holdfast, ref: string, { output }: Context): Promise<void> {
  if (!output.interactive) {
    for await (const piece of holdfast.blobs.stream(ref)) await output.bytes(piece);
    return;
  }
  const { mediaType, encoding, size } = await needStat(holdfast, ref);
  if (encoding !== "utf-8" && !/^text\/|json|xml/.test(mediaType)) {
    throw new UsageError(
      `${formatBytes(size)} of ${mediaType} cannot be printed on a terminal; use --out FILE or a pipe`,
    );
  }
  const decoder = new TextDecoder();
  for await (const piece of holdfast.blobs.stream(ref)) {
    await output.bytes(safeText(decoder.decode(piece, { stream: true })));
  }
  await output.line(safeText(decoder.decode()));
}

const SORT = BLOB_VERBS.list.params[0].schema.fields.sort;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list blobs, newest first",
  usage: ["blobs [ls] [--sort SORT] [--limit N] [--cursor C]"],
  description:
    "Lists blobs, newest first or with --sort size largest first, a page at a time: blobs that you stored, attachments, and the " +
    "content of messages, state and blocks. It does not list the chunks of large blobs, nor short messages, whose content is " +
    "in their rows.",
  options: {
    sort: { ...choiceOption(SORT), value: "SORT", summary: "age (default, newest first) or size (largest first)" },
    ...pageOptions(50),
  },
  operands: [],
  examples: [
    { command: "holdfast blobs", does: "list the 50 newest" },
    { command: "holdfast blobs ls --sort size", does: "find the largest blobs" },
    { command: "holdfast blobs ls --limit 1000 --json", does: "print JSON for a program" },
  ],
  next: "holdfast blobs stat REF shows more, and which rows refer to the blob; holdfast blobs get REF reads it.",
  run: async (context) => {
    const { args, output } = context;
    const cursor = args.text("cursor");
    const holdfast = await context.open();
    const page = await holdfast.blobs.list({
      limit: args.number("limit") ?? 50,
      sort: args.choice("sort", SORT.of) ?? SORT.fallback,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const now = holdfast.clock().now;
    await output.answer(page, () => (page.items.length === 0 ? ["no blobs"] : listLines(page.items, now, output)));
    await output.noteNextPage(page.next);
    return undefined;
  },
};

/** Narrower terminals have no room for columns next to a ref, and a cut ref cannot be copied. */
const TABLE_WIDTH = 120;

function listLines(blobs: readonly BlobStat[], now: number, { width, frame, style }: Output): string[] {
  if (width >= TABLE_WIDTH) return table(columns(now), blobs, frame);
  return blobs.flatMap((blob) => {
    const facts = [formatBytes(blob.size), blob.mediaType, formatAge(blob.createdAt, now), describeExpiry(blob, now)];
    return [style.name(blob.ref), ...wrap(safeLine(facts.join(", ")), width - 4).map((line) => `    ${line}`)];
  });
}

const columns = (now: number): readonly Column<BlobStat>[] => [
  { title: "REF", cell: ({ ref }) => ref, keep: true, colour: (text, _, style) => style.name(text) },
  { title: "SIZE", align: "right", cell: ({ size }) => formatBytes(size) },
  { title: "TYPE", cell: ({ mediaType }) => mediaType, shrink: 3 },
  { title: "AGE", cell: ({ createdAt }) => formatAge(createdAt, now) },
  { title: "KEPT", cell: (blob) => describeExpiry(blob, now) },
];

function describeExpiry({ pinned: isPinned, references, expiresAt }: BlobStat, now: number): string {
  if (isPinned) return "pinned";
  if (references > 0) return "in use";
  if (expiresAt === null) return "never expires";
  return expiresAt <= now ? "expired" : `expires in ${formatSpan(expiresAt - now)}`;
}

const DEFAULT_REFERRERS = 20;

const stat: Command = {
  name: "stat",
  aliases: ["show", "refs"],
  summary: "show how a blob is stored, and which rows refer to it",
  usage: ["blobs stat REF [--limit N]"],
  description:
    "Shows size, type, how it is stored, when it expires, and which rows refer to it: messages, state, calls, steps and " +
    "checkpoints of runs, captures, blocks. Messages name their attachments in their content.",
  options: {
    limit: { type: "number", min: 1, max: LIMITS.page, summary: `show at most N rows (default ${DEFAULT_REFERRERS})` },
  },
  operands: REF,
  examples: [
    { command: "holdfast blobs stat sha256:9f86d0…", does: "give the whole ref" },
    { command: "holdfast blobs stat sha256:9f86d0… --limit 1000 --json", does: "list up to 1000 rows" },
  ],
  run: async (context) => {
    const holdfast = await context.open();
    const value = await needStat(holdfast, readRef(context));
    const limit = context.args.number("limit") ?? DEFAULT_REFERRERS;
    const referrers = await holdfast.blobs.referrers(value.ref, { limit });
    await context.output.answer({ ...value, referrers }, () => [
      ...facts(
        [
          ["ref", value.ref],
          ["size", formatBytes(value.size)],
          ["stored", `${formatBytes(value.storedSize)} (${value.compression}, in ${value.store || "database"})`],
          ["type", value.mediaType],
          ["stored as", value.encoding === "utf-8" ? "text (UTF-8)" : "bytes"],
          ["references", String(value.references)],
          ["lifetime", describeLifetime(value)],
          ["created", formatTime(value.createdAt)],
          ["key", value.key],
        ],
        context.output.frame,
      ),
      ...(referrers.length === 0 ? [] : ["", ...table(REFERRER_COLUMNS, referrers, context.output.frame)]),
    ]);
    if (referrers.length === limit)
      await context.output.note(`only the newest ${limit} rows are shown; --limit shows more`);
    return undefined;
  },
};

const REFERRER_COLUMNS: readonly Column<BlobReferrer>[] = [
  { title: "REFERRED TO BY", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "KIND", cell: ({ kind }) => kind },
  { title: "AS", cell: ({ how }) => how },
  { title: "SESSION", cell: ({ session }) => session ?? "", shrink: 2 },
];

function pinCommand(name: "pin" | "unpin", summary: string, description: string, done: string): Command {
  return {
    name,
    summary,
    usage: [`blobs ${name} REF`],
    description,
    options: {},
    operands: REF,
    examples: [{ command: `holdfast blobs ${name} sha256:9f86d0…`, does: "give the whole ref" }],
    run: async (context) => {
      const holdfast = await context.open();
      const ref = readRef(context);
      await holdfast.blobs[name](ref);
      const value = await needStat(holdfast, ref);
      await context.output.answer(value, () => [`${done} ${ref}${value.pinned ? "" : `; ${describeLifetime(value)}`}`]);
      return undefined;
    },
  };
}

const rm: Command = {
  name: "rm",
  summary: "delete a blob at once",
  usage: ["blobs rm REF [--yes]"],
  description:
    "Deletes a blob now instead of waiting for gc. Refused while a message or another row refers to it, and while it " +
    "is pinned.",
  options: { yes: YES_OPTION },
  operands: REF,
  examples: [{ command: "holdfast blobs rm sha256:9f86d0… --yes", does: "give the whole ref" }],
  run: async (context) => {
    const holdfast = await context.open();
    const ref = readRef(context);
    if ((await needStat(holdfast, ref)).pinned) throw pinned(ref);
    await confirm(context, `This deletes ${ref} for good.`);
    if (!(await holdfast.blobs.delete(ref))) throw notFound(ref);
    await context.output.answer({ ref, deleted: true }, () => [`deleted ${ref}`]);
    return undefined;
  },
};

const verify: Command = {
  name: "verify",
  summary: "read a blob again and compare its hash",
  usage: ["blobs verify REF"],
  description: "Reads all parts of a blob and compares their hash with its ref. Exits with 5 on damage.",
  options: {},
  operands: REF,
  examples: [{ command: "holdfast blobs verify sha256:9f86d0…", does: "give the whole ref" }],
  next: "holdfast verify --blobs checks all blobs that messages refer to.",
  run: async (context) => {
    const { output } = context;
    const ref = readRef(context);
    const holdfast = await context.open();
    if (!(await holdfast.blobs.exists(ref))) throw notFound(ref);
    const check = await holdfast.blobs.verify(ref);
    await output.answer({ ref, ...check }, () => [
      check.ok
        ? `${output.style.good("ok")} ${ref} (${formatBytes(check.size)})`
        : safe`DAMAGED ${ref}: ${check.reason}`,
    ]);
    return check.ok ? EXIT.ok : EXIT.damage;
  },
};

/** Accepts a ref with or without "sha256:". */
function readRef({ args }: Context): string {
  const given = args.operand(0);
  return /^[0-9a-f]{64}$/.test(given) ? `sha256:${given}` : given;
}

async function needStat(holdfast: Holdfast, ref: string): Promise<BlobStat> {
  const found = await holdfast.blobs.stat(ref);
  if (found === null) throw notFound(ref);
  return found;
}

function notFound(ref: string): HoldfastError {
  return new HoldfastError("BlobNotFound", `no blob ${ref}`, { details: { ref } });
}

function pinned(ref: string): HoldfastError {
  return new HoldfastError("Conflict", `the blob ${ref} is pinned`, {
    hint: `unpin it first: \`holdfast blobs unpin ${ref}\``,
    details: { ref, pinned: true },
  });
}

export const blobs: CommandGroup = {
  name: "blobs",
  summary: "store, list and fetch bytes by their hash",
  usage: [...ls.usage, ...put.usage, ...get.usage, "blobs stat|pin|unpin|verify REF", ...rm.usage],
  description:
    "A blob is a sequence of bytes. Its ref, sha256:<64 hex digits>, is the hash of its content. Messages " +
    "refer to blobs, so an attachment used a thousand times is stored once.",
  commands: [
    ls,
    put,
    get,
    stat,
    pinCommand("pin", "keep a blob past its expiry", "A pinned blob stays until it is unpinned.", "pinned"),
    pinCommand(
      "unpin",
      "let a blob expire again",
      "The blob expires at its original time, unless a row refers to it.",
      "unpinned",
    ),
    rm,
    verify,
  ],
  fallback: "ls",
  examples: [...put.examples, ...get.examples.slice(0, 1)],
  next: "holdfast gc deletes expired blobs that no row refers to.",
};
