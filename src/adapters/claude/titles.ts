// Gives a mirrored session its first prompt as title, like an import does. A session with a title is not read again.
import { readClaude } from "../../coding/conversation/claude.ts";
import { firstPrompt } from "../../coding/conversation/session-metadata.ts";
import { titleOf } from "../../coding/conversation/short-text.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { MessageInput } from "../../contracts/messages.ts";
import type { SessionsOf } from "../../contracts/session-store.ts";
import { entryOf } from "./entries.ts";

/** How many ids of sessions with a title are cached. */
const MAX_CACHED_IDS = 1000;

export class TitleWriter {
  readonly #hf: SessionsOf;
  readonly #titled = new Set<string>();

  constructor(hf: SessionsOf) {
    this.#hf = hf;
  }

  /** Call it after the entries were appended: they are stored even if this fails. */
  async setTitleOnce(id: string, messages: readonly MessageInput[]): Promise<void> {
    if (this.#titled.has(id)) return;
    const title = titleIn(messages);
    if (title === "") return;
    try {
      const session = await this.#hf.sessions.get({ session: id });
      if (session?.title === null) await this.#hf.sessions.update({ session: id }, { title, version: session.version });
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      // The session was deleted, or another writer changed it: the next prompt tries again.
      return;
    }
    this.#titled.add(id);
    const [oldest] = this.#titled;
    if (this.#titled.size > MAX_CACHED_IDS && oldest !== undefined) this.#titled.delete(oldest);
  }
}

function titleIn(messages: readonly MessageInput[]): string {
  const lines = messages.map((message) => JSON.stringify(entryOf(message) ?? {}));
  return titleOf(firstPrompt(readClaude(`${lines.join("\n")}\n`).conversation));
}
