// Which store a command uses, and how it is opened. Only `init`, `demo` and the commands that import sessions create one: a
// mistake in --store must not leave an empty store behind. The commands that look at the whole store warn about files that every user
// of the machine can read: an old version created such files.
import { existsSync } from "node:fs";
import * as path from "node:path";
import type { Environment } from "../contracts/environment.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import { checkFileMode, FILE_MODE } from "../core/file-mode.ts";
import { hidePassword, mayHoldPassword } from "../core/store-url.ts";
import type { Context } from "./command-line.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import { quoted, safe, safeLine } from "./terminal.ts";

const DEFAULT_STORE = "./holdfast.db";

export interface StoreChoice {
  /** The URL for open(). Paths are absolute, so that the directory of the process does not matter. */
  readonly url: string;
  /** The store as the user wrote it, without a password, for messages. */
  readonly name: string;
  readonly blobDirectory: string | undefined;
  /** Permissions of the files that the store creates; undefined: only the owner may read and write them. */
  readonly fileMode: number | undefined;
}

export function chooseStore(store: string | undefined, blobDirectory: string | undefined, io: Io): StoreChoice {
  const given = store ?? (io.env.HOLDFAST_STORE || DEFAULT_STORE);
  const directory = blobDirectory ?? (io.env.HOLDFAST_BLOB_DIR || undefined);
  return {
    url: isPath(given) ? path.resolve(io.cwd, given) : given,
    name: hidePassword(given),
    blobDirectory: directory === undefined ? undefined : path.resolve(io.cwd, directory),
    fileMode: givenFileMode(io.env),
  };
}

/** Environment variables that make another command or process choose the same store. */
export function storeEnvironment(choice: StoreChoice): { HOLDFAST_STORE: string; HOLDFAST_BLOB_DIR: string } {
  return { HOLDFAST_STORE: choice.url, HOLDFAST_BLOB_DIR: choice.blobDirectory ?? "" };
}

/**
 * The options that name the store, as text after a command. A password stays hidden: if the user copies such a line,
 * the server refuses it, whereas a line without --store would use another store.
 */
export function storeOptions(name: string | undefined, blobDirectory: string | undefined): string {
  const store = name === undefined ? "" : ` --store ${quoted(name)}`;
  return store + (blobDirectory === undefined ? "" : ` --blob-dir ${quoted(blobDirectory)}`);
}

/** A text that may contain a password does not count as a path: open() refuses it without showing it. */
function isPath(url: string): boolean {
  if (mayHoldPassword(url)) return false;
  return url !== "" && url !== ":memory:" && !/^(file|postgres|postgresql):|^[a-z][a-z0-9+.-]+:\/\//i.test(url);
}

function isDefault({ name }: StoreChoice): boolean {
  return name === DEFAULT_STORE;
}

function initHint(choice: StoreChoice): string {
  // A name with a hidden password cannot be copied.
  if (choice.name.includes("***")) return "run `holdfast init` with the same store to create it";
  return `run \`holdfast init${isDefault(choice) ? "" : ` --store ${quoted(choice.name)}`}\` to create it`;
}

export async function openStore(choice: StoreChoice, options: OpenOptions = {}): Promise<Holdfast> {
  if (choice.url === ":memory:") {
    throw new UsageError("a store in memory is lost when the command ends; name a file with --store FILE");
  }
  // The engine is loaded here, so that --help does not wait for a database engine. Not index.ts: a command needs no models and no
  // tool loop.
  const { blobsIn, open } = await import("../open.ts");
  const mode = choice.fileMode === undefined ? {} : { fileMode: choice.fileMode };
  const blobs = choice.blobDirectory === undefined ? {} : { blobs: blobsIn(choice.blobDirectory, mode) };
  try {
    return await open(choice.url, { create: false, ...blobs, ...mode, ...options });
  } catch (error) {
    // If the command creates no store, a missing directory also means that there is no store.
    if (!isHoldfastError(error)) throw error;
    const isAbsent = error.code === "MissingDirectory" || (error.code === "NotFound" && error.details.kind === "store");
    if (!isAbsent || options.create === true) throw error;
    throw new HoldfastError("NotFound", `no store at ${choice.name}`, {
      hint: `${initHint(choice)}, or pass ${isDefault(choice) ? "--store URL" : "another --store"}`,
      details: error.details,
      cause: error,
    });
  }
}

/** Opens the store; null if there is none yet. */
export async function openIfThere(context: Context, options: OpenOptions = {}): Promise<Holdfast | null> {
  try {
    return await context.open(options);
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return null;
    throw error;
  }
}

/**
 * Creates the store. Only commands that import sessions or save work that would be lost do this. The note, after
 * `before`, lets the user notice a mistake in --store.
 */
export async function createStore(context: Context, options: OpenOptions = {}, before = ""): Promise<Holdfast> {
  const holdfast = await context.open({ ...options, create: true });
  await context.output.note(safe`${before}created a store at ${context.storeName}`);
  return holdfast;
}

/** Rights of the files that commands create: HOLDFAST_FILE_MODE, in octal as in chmod; by default only the owner has any. */
export function fileModeOf(env: Io["env"]): number {
  return givenFileMode(env) ?? FILE_MODE;
}

/** Returns undefined if the variable is not set. */
function givenFileMode({ HOLDFAST_FILE_MODE: text }: Io["env"]): number | undefined {
  if (!text) return undefined;
  try {
    return checkFileMode(
      /^(0o?)?[0-7]{3}$/.test(text) ? Number.parseInt(text.replace(/^0o/, ""), 8) : text,
      "file mode",
    );
  } catch {
    throw new UsageError(
      `HOLDFAST_FILE_MODE is "${text}"; give rights to read and write in octal, such as 600 (owner) or 660 (owner and group)`,
    );
  }
}

/** A log that collects the files that open() warns about. */
export function collectExposedFiles(files: Set<string>): Environment["log"] {
  return (_, event, fields) => {
    if (event !== "store.exposed" || !Array.isArray(fields?.files)) return;
    for (const file of fields.files) files.add(String(file));
  };
}

/** Call this after the store was closed: closing removes some of the files. */
export async function warnOfExposedFiles(files: ReadonlySet<string>, output: Output): Promise<void> {
  const left = [...files].filter((file) => existsSync(file));
  if (left.length === 0) return;
  const names = left.map((file) => safeLine(quoted(file))).join(" ");
  await output.note(
    `warning: every user of this machine can read the store; \`chmod o-rwx ${names}\` makes it private`,
  );
}
