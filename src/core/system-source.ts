// What a context says before its messages: an agent's system prompt, its core blocks, and memories. The nouns that read contexts come
// before those that have blocks and memories, so open() passes them this source.
import type { ContextOptions, ContextSystem } from "../contracts/context.ts";
import type { JsonObject } from "../contracts/json.ts";
import { list, plainObject, text } from "./decode.ts";

/** The options of a context that ask for it, which the source checks. */
export interface SystemOptions extends Pick<ContextOptions, "blocks" | "memory"> {
  /** The agent if the options name none; null: there is none. */
  readonly own: string | null;
  /** The maximum number of tokens of the whole context; null: any. */
  readonly budget: number | null;
  readonly count: (text: string) => number;
}

/** What a recorded read stores: ids with versions, in their order, and the digest of the text. */
export interface RecordedSystem {
  readonly blocks: readonly RecordedVersion[];
  readonly memories: readonly RecordedVersion[];
  readonly digest: string;
}

type RecordedVersion = readonly [id: string, version: number];

export interface BuiltSystem {
  readonly system: ContextSystem;
  readonly recorded: RecordedSystem;
  /** Blocks and memories of the recorded read that were erased since. */
  readonly erased: readonly string[];
}

export interface SystemSource {
  /** null: the options ask for nothing. */
  build(options: SystemOptions): Promise<BuiltSystem | null>;
  /** The same blocks and memories, in the versions that were recorded. */
  rebuild(options: SystemOptions, recorded: RecordedSystem): Promise<BuiltSystem | null>;
}

export type LoadSystemSource = () => Promise<SystemSource>;

export function encodeSystem({ blocks, memories, digest }: RecordedSystem): JsonObject {
  return { blocks: blocks.map((one) => [...one]), digest, memories: memories.map((one) => [...one]) };
}

/** undefined: the read recorded none, or something else than a recorded system. */
export function decodeSystem(value: unknown): RecordedSystem | undefined {
  const found = plainObject.read(value);
  const [blocks, memories] = [versionsIn(found?.blocks), versionsIn(found?.memories)];
  const digest = text.read(found?.digest);
  if (blocks === undefined || memories === undefined || digest === undefined) return undefined;
  return { blocks, memories, digest };
}

function versionsIn(value: unknown): readonly RecordedVersion[] | undefined {
  return list.read(value)?.map((one): RecordedVersion => {
    const [id, version] = list.read(one) ?? [];
    return [String(id), Number(version)];
  });
}
