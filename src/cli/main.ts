// The `holdfast` command: parses, runs one command, tells failures, and answers with the exit code. It never ends the
// process itself, so that output is flushed and the store is closed. Nothing happens on import: the programs that call main are
// entry.ts in a clone and bin/holdfast.js in the package.
import type { Holdfast } from "../contracts/holdfast.ts";
import { realEnvironment } from "../core/environment.ts";
import { checkArguments, GLOBAL_OPTIONS, type Request, readRequest, wants, withRest } from "./arguments.ts";
import { type AnyCommand, type CommandSyntax, type Context, isGroup } from "./command.ts";
import { EXIT, EXIT_MEANINGS } from "./exit.ts";
import { exposureLog, noteExposure } from "./exposure.ts";
import { report, UsageError } from "./failure.ts";
import { commandHelp, describeCommand, overview } from "./help.ts";
import { type Io, processIo } from "./io.ts";
import { Output } from "./output.ts";
import { packageVersion } from "./package-files.ts";
import { COMMANDS, loadSections } from "./registry.ts";
import { chooseStore, openStore, storeOptions } from "./store.ts";

export async function main(words: string[], given: Partial<Io> = {}): Promise<number> {
  const argv = withRest(words, COMMANDS);
  const io = processIo(given);
  // Looked for by hand, because a command line that cannot be read is also told as JSON.
  const output = new Output(io, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"));
  try {
    return await dispatch(readRequest(argv, COMMANDS), io, output);
  } catch (error) {
    return await report(error, output, Boolean(io.env.HOLDFAST_DEBUG));
  } finally {
    await output.clearProgress();
  }
}

async function dispatch(request: Request, io: Io, output: Output): Promise<number> {
  if (wants(request, "help")) return await help(request, output);
  if (wants(request, "version")) {
    const version = packageVersion();
    await output.answer({ version, node: process.version }, () => [version]);
    return EXIT.ok;
  }
  if (request.named === undefined) return await help(request, output);
  if (request.command === undefined) {
    throw new UsageError(`holdfast ${request.path} needs a command; see \`holdfast ${request.path} --help\``);
  }
  return await execute(request, request.command, io, output);
}

async function help(request: Request, output: Output): Promise<number> {
  const sections = await loadSections();
  const commands = sections.flatMap((section) => section.commands);
  const topic = topicOf(request, commands);
  if (topic === undefined) {
    const document = { commands: commands.map(describeCommand), options: GLOBAL_OPTIONS, exitCodes: EXIT_MEANINGS };
    await output.answer(document, () => overview(sections, output.frame));
  } else {
    await output.answer(describeCommand(topic), () => commandHelp(topic, `holdfast ${request.path}`, output.frame));
  }
  return EXIT.ok;
}

/** A bare group is explained whole, even if it has a fallback. */
function topicOf({ named, command, path }: Request, commands: readonly AnyCommand[]): AnyCommand | undefined {
  const lesson = commands.find(({ name }) => name === named?.name);
  if (lesson === undefined || !isGroup(lesson) || path === lesson.name) return lesson;
  return lesson.commands.find(({ name }) => name === command?.name);
}

async function execute(request: Request, command: CommandSyntax, io: Io, output: Output): Promise<number> {
  const args = checkArguments(request, command);
  const choice = chooseStore(args.text("store"), args.text("blob-dir"), io);
  const store = args.text("store");
  // A password cannot be shown: where HOLDFAST_STORE names the same store, the next command needs no option for it.
  const isHidden = store === io.env.HOLDFAST_STORE && choice.name !== store;
  output.sameStore(storeOptions(store === undefined || isHidden ? undefined : choice.name, args.text("blob-dir")));
  const opened: Holdfast[] = [];
  const exposed = new Set<string>();
  const context: Context = {
    args,
    output,
    io,
    storeName: choice.name,
    async open(options) {
      const environment = { ...realEnvironment(), log: exposureLog(exposed) };
      const holdfast = await openStore(choice, { environment, ...options });
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
  if (command.tellsExposure) await noteExposure(exposed, output);
  return code;
}
