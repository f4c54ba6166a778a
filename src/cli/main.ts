// The `holdfast` command: main() parses the command line, runs one command, reports failures and returns the exit code.
// It never ends the process itself, so that output is flushed and the store is closed. Importing this file does
// nothing: entry.ts in a clone and bin/holdfast.js in the package call main().
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import { realEnvironment } from "../core/environment.ts";
import {
  type AnyCommand,
  addSeparator,
  type CommandLine,
  type CommandSyntax,
  type Context,
  checkArguments,
  hasOption,
  isGroup,
  readCommandLine,
} from "./command-line.ts";
import { EXIT, EXIT_MEANINGS } from "./exit.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { GLOBAL_OPTIONS } from "./option.ts";
import { Output } from "./output.ts";
import { packageVersion } from "./package-files.ts";
import { COMMANDS, loadHelp } from "./registry.ts";
import { chooseStore, collectExposedFiles, openStore, storeOptions, warnOfExposedFiles } from "./store.ts";

export async function main(args: string[], overrides: Partial<Io> = {}): Promise<number> {
  const argv = addSeparator(args, COMMANDS);
  const io = processIo(overrides);
  // main() looks for --json itself: if the command line cannot be parsed, that failure must be JSON too.
  const output = new Output(io, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"));
  try {
    return await dispatch(readCommandLine(argv, COMMANDS), io, output);
  } catch (error) {
    // Loaded on failure only: most commands succeed, and start faster without this module.
    const { reportFailure } = await import("./failure-report.ts");
    return await reportFailure(error, output, Boolean(io.env.HOLDFAST_DEBUG));
  } finally {
    await output.clearProgress();
  }
}

async function dispatch(line: CommandLine, io: Io, output: Output): Promise<number> {
  if (hasOption(line, "help")) return await help(line, output);
  if (hasOption(line, "version")) {
    const version = packageVersion();
    await output.answer({ version, node: process.version }, () => [version]);
    return EXIT.ok;
  }
  if (line.named === undefined) return await help(line, output);
  if (line.command === undefined) {
    throw new UsageError(`holdfast ${line.path} needs a command; see \`holdfast ${line.path} --help\``);
  }
  return await execute(line, line.command, io, output);
}

async function help(line: CommandLine, output: Output): Promise<number> {
  const { SECTIONS: sections, commandHelp, describeCommand, overview } = await loadHelp();
  const commands = sections.flatMap((section) => section.commands);
  const topic = findTopic(line, commands);
  if (topic === undefined) {
    const document = { commands: commands.map(describeCommand), options: GLOBAL_OPTIONS, exitCodes: EXIT_MEANINGS };
    await output.answer(document, () => overview(sections, output.frame));
  } else {
    await output.answer(describeCommand(topic), () => commandHelp(topic, `holdfast ${line.path}`, output.frame));
  }
  return EXIT.ok;
}

/** The command that --help explains. A group without a command is explained as a whole, even if it has a fallback. */
function findTopic({ named, command, path }: CommandLine, commands: readonly AnyCommand[]): AnyCommand | undefined {
  const topic = commands.find(({ name }) => name === named?.name);
  if (topic === undefined || !isGroup(topic) || path === topic.name) return topic;
  return topic.commands.find(({ name }) => name === command?.name);
}

async function execute(line: CommandLine, command: CommandSyntax, io: Io, output: Output): Promise<number> {
  const args = checkArguments(line, command);
  const choice = chooseStore(args.text("store"), args.text("blob-dir"), io);
  const store = args.text("store");
  // Hints must not show a password. If HOLDFAST_STORE names the same store, the commands in hints need no --store.
  const isHidden = store === io.env.HOLDFAST_STORE && choice.name !== store;
  output.setStoreOptions(
    storeOptions(store === undefined || isHidden ? undefined : choice.name, args.text("blob-dir")),
  );
  const opened: Holdfast[] = [];
  const exposed = new Set<string>();
  const context: Context = {
    args,
    output,
    io,
    storeName: choice.name,
    async open(options) {
      const environment = { ...realEnvironment(), log: collectExposedFiles(exposed) };
      const openWith = (more: OpenOptions) => openStore(choice, { environment, ...options, ...more });
      const embedder = embedderOf(command, args, io);
      const holdfast =
        embedder === undefined
          ? await openWith({})
          : await (await import("./embedder.ts")).openWithEmbedder(embedder, io.env, openWith, {
              switches: command.switchesEmbedder ?? false,
            });
      opened.push(holdfast);
      return holdfast;
    },
    capture: async (argv, options) => {
      const { captureOutput: capture } = await import("./output-capture.ts");
      return capture(main, argv, { cwd: io.cwd, env: io.env, ...options });
    },
  };
  let code: number;
  try {
    code = (await command.run(context)) ?? EXIT.ok;
  } finally {
    for (const holdfast of opened) await holdfast.close();
  }
  if (command.warnsOfExposedFiles) await warnOfExposedFiles(exposed, output);
  return code;
}

/** Most commands take no embedder. A dry run writes nothing, embeddings included. */
function embedderOf(command: CommandSyntax, args: Context["args"], { env }: Io): string | undefined {
  if (command.options.embedder === undefined) return undefined;
  if (command.options["dry-run"] !== undefined && args.flag("dry-run")) return undefined;
  return args.text("embedder") ?? (env.HOLDFAST_EMBEDDER || undefined);
}

export function processIo(overrides: Partial<Io> = {}): Io {
  return {
    // The streams are created on first use: most commands read no input.
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    get stdin() {
      return process.stdin;
    },
    env: process.env,
    cwd: process.cwd(),
    script: process.argv[1],
    ...overrides,
  };
}
