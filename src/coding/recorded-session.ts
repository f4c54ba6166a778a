// One session of a coding agent while it is recorded: its saver, its newest capture, and how far its conversation is imported.
// `holdfast run` and the Agent SDK's door record sessions with it.
import type { Capture } from "../contracts/captures.ts";
import type { FoundSession } from "../contracts/coding.ts";
import { type ImportStores, importCaptured } from "./catch-up.ts";
import type { Imported, ImportOptions } from "./conversation/import.ts";
import { type Saved, Saver, type SaverOptions } from "./saver.ts";

export class RecordedSession {
  readonly #store: ImportStores;
  readonly #saver: Saver;
  #importedGeneration = 0;
  /** What was saved last; null: nothing yet. */
  last: Capture | null = null;

  constructor(store: ImportStores, options: Omit<SaverOptions, "captures">) {
    this.#store = store;
    this.#saver = new Saver({ ...options, captures: store.captures });
  }

  /** null: nothing changed since the last save. */
  async save(found: FoundSession): Promise<Saved | null> {
    const saved = await this.#saver.save(found);
    if (saved !== null) this.last = saved.capture;
    return saved;
  }

  /** Imports the newest capture. null: nothing was saved since the last import, or the capture has no transcript. */
  async importConversation(options: Pick<ImportOptions, "follows"> = {}): Promise<Imported | null> {
    const { last } = this;
    if (last === null || last.generation === this.#importedGeneration) return null;
    const imported = await importCaptured(this.#store, last, options);
    this.#importedGeneration = last.generation;
    return imported;
  }
}
