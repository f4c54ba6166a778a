// A mirrored session is called by what was asked first, as an imported one is. Once it has a title nothing is looked at again.

import { readClaude } from "../../coding/conversation/claude.ts";
import { firstPrompt } from "../../coding/conversation/session-metadata.ts";
import { titleOf } from "../../coding/conversation/short-text.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { MessageInput } from "../../contracts/messages.ts";
import type { SessionsOf } from "../../contracts/session-store.ts";
import { entryOf } from "./entries.ts";

/** Sessions that are known to have one. */
const REMEMBERED = 1000;

export class Titles {
  readonly #hf: SessionsOf;
  readonly #titled = new Set<string>();

  constructor(hf: SessionsOf) {
    this.#hf = hf;
  }

  /** Whatever becomes of it, the entries are there. */
  async give(id: string, messages: readonly MessageInput[]): Promise<void> {
    if (this.#titled.has(id)) return;
    const title = titleIn(messages);
    if (title === "") return;
    try {
      const session = await this.#hf.sessions.get({ session: id });
      if (session?.title === null) await this.#hf.sessions.update({ session: id }, { title, version: session.version });
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      // Deleted, or named by another writer: the next prompt looks again.
      return;
    }
    this.#titled.add(id);
    const [oldest] = this.#titled;
    if (this.#titled.size > REMEMBERED && oldest !== undefined) this.#titled.delete(oldest);
  }
}

function titleIn(messages: readonly MessageInput[]): string {
  const lines = messages.map((message) => JSON.stringify(entryOf(message) ?? {}));
  return titleOf(firstPrompt(readClaude(`${lines.join("\n")}\n`).conversation));
}
