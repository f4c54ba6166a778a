// Stores of all three engines for tests of the text index: the public API, and the index below it as two other processes have it.

import type { Holdfast } from "../src/contracts/holdfast.ts";
import type { Payloads } from "../src/contracts/storage/payloads.ts";
import type { Storage } from "../src/contracts/storage/storage.ts";
import { realEnvironment } from "../src/core/environment.ts";
import { open, openOn } from "../src/open.ts";
import { type MessageReader, readMessages } from "../src/search/index/message-rows.ts";
import { MessageSource } from "../src/search/index/message-source.ts";
import { createNaiveIndex } from "../src/search/index/naive-index.ts";
import type { IndexSnapshot } from "../src/search/index/reader.ts";
import { TextIndex } from "../src/search/index/text-index.ts";
import type { IndexItem } from "../src/search/index/units.ts";
import { createPayloads } from "../src/storage/blobs/payloads.ts";
import type { Driver } from "../src/storage/sql/driver.ts";
import { openSqlite } from "../src/storage/sql/sqlite/driver.ts";
import { SqlStorage } from "../src/storage/sql/store.ts";
import { ENGINES } from "./engines.ts";

const environment = realEnvironment();
const language = "english";
const ALL = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

export class IndexProcess implements MessageReader {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly index: TextIndex;

  /** `between` wraps the storage that the index gets. */
  constructor(driver: Driver, between: (storage: Storage) => Storage = (storage) => storage) {
    this.storage = between(new SqlStorage(driver, environment));
    this.payloads = createPayloads(this.storage);
    this.index = new TextIndex(this.storage, new MessageSource(this), language);
  }

  write(least = 1): Promise<void> {
    return this.index.writer.run({ least, language });
  }

  /** What the index should be: made at once of all messages. */
  async naive(): Promise<IndexSnapshot> {
    const items: IndexItem[] = [];
    for await (const { item } of readMessages(this, ALL, language)) if (item !== null) items.push(item);
    return createNaiveIndex("messages", items, language);
  }
}

export interface IndexStore {
  readonly hf: Holdfast;
  readonly processes: readonly [IndexProcess, IndexProcess];
  readonly driver: Driver;
  readonly path: string | null;
  close(): Promise<void>;
}

export interface IndexEngine {
  readonly name: string;
  fresh(): Promise<IndexStore>;
}

export const INDEX_ENGINES: readonly IndexEngine[] = [
  ...ENGINES.map((engine) => ({
    name: engine.name,
    fresh: async (): Promise<IndexStore> => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      return {
        hf,
        processes: [new IndexProcess(ground.driver), new IndexProcess(await ground.another())],
        driver: ground.driver,
        path: engine.name === "sqlite" ? ground.url : null,
        close: async () => {
          await hf.close();
          await ground.end();
        },
      };
    },
  })),
  {
    name: "memory",
    fresh: async () => {
      const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
      const hf = await openOn(driver, {});
      const process = new IndexProcess(driver);
      return { hf, processes: [process, process], driver, path: null, close: () => hf.close() };
    },
  },
];
