// A store on each kind of place, for tests of what is built on the public API: opened once for all tests of a file.
import { afterAll, beforeAll, describe } from "vitest";
import type { Holdfast } from "../src/contracts/holdfast.ts";
import { open } from "../src/open.ts";
import { ENGINES, openOn } from "./engines.ts";

interface TestStore {
  readonly hf: Holdfast;
  /** Opens another handle on the same store; the first one if there can be only one. */
  another(): Promise<Holdfast>;
}

/** `body` declares tests, which call `store()`. */
export function describeOnEachStore(title: string, body: (store: () => TestStore) => void): void {
  const places = [
    { name: "in memory", make: async () => plainStore(await open(":memory:")) },
    ...ENGINES.map((engine) => ({
      name: engine.name,
      make: async () => {
        const { hf, ground, close } = await openOn(engine);
        return plainStore(hf, ground.url, close);
      },
    })),
  ];
  describe.each(places)(`${title}, $name`, ({ make }) => {
    let made: (TestStore & { close(): Promise<void> }) | undefined;
    beforeAll(async () => {
      made = await make();
    });
    afterAll(() => made?.close());
    body(() => {
      if (made === undefined) throw new Error("the store is not open yet");
      return made;
    });
  });
}

function plainStore(hf: Holdfast, url?: string, close = () => hf.close()): TestStore & { close(): Promise<void> } {
  const handles: Holdfast[] = [];
  return {
    hf,
    another: async () => {
      if (url === undefined) return hf;
      const handle = await open(url);
      handles.push(handle);
      return handle;
    },
    close: async () => {
      for (const handle of handles) await handle.close();
      await close();
    },
  };
}
