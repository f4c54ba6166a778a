// When a call of an open store may run. A part's code is loaded when one of its calls is first made: most programs use few parts, and
// loading all of them would take most of the time that opening takes. Calls run in the order in which they were made. close() waits
// for the calls under way, and later ones are refused.
import { HoldfastError } from "../contracts/errors.ts";
import type { VerbKind } from "../contracts/verbs/vocabulary.ts";
import { copyArguments } from "./argument-copy.ts";
import { LazyStream } from "./lazy-stream.ts";

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** How each member of a part answers. A member that answers synchronously cannot wait for code. */
export type LazyVerbs<T> = { readonly [K in keyof T]: { readonly kind: Exclude<VerbKind, "local"> } };

/** Code that is loaded once in a process, when it is first needed. */
export class LazyModule<M extends object> {
  readonly #load: () => Promise<M>;
  #loading: Promise<M> | null = null;
  #loaded: M | null = null;

  constructor(load: () => Promise<M>) {
    this.#load = load;
  }

  /** null until the code is loaded. */
  get loaded(): M | null {
    return this.#loaded;
  }

  load(): Promise<M> {
    this.#loading ??= this.#load().then(
      (module) => {
        this.#loaded = module;
        return module;
      },
      (cause: unknown) => {
        this.#loading = null;
        throw loadFailed(cause);
      },
    );
    return this.#loading;
  }
}

/** A part of one open store. It is created when its code is loaded and a call needs it. */
export interface LazyPart<T extends object> {
  /** null until its code is loaded. */
  readonly loaded: T | null;
  /** Whether a call has needed the part. */
  readonly isNeeded: boolean;
  load(): Promise<T>;
}

class PartOf<M extends object, T extends object> implements LazyPart<T> {
  readonly #module: LazyModule<M>;
  readonly #create: (module: M) => T;
  #made: T | null = null;
  isNeeded = false;

  constructor(module: LazyModule<M>, create: (module: M) => T) {
    this.#module = module;
    this.#create = create;
  }

  get loaded(): T | null {
    if (this.#made !== null || this.#module.loaded === null) return this.#made;
    this.isNeeded = true;
    this.#made = this.#create(this.#module.loaded);
    return this.#made;
  }

  async load(): Promise<T> {
    this.isNeeded = true;
    const module = await this.#module.load();
    this.#made ??= this.#create(module);
    return this.#made;
  }
}

/** The lazy parts of one open store. If a call waits for code, later calls wait behind it. */
export class LazyParts {
  readonly #modules = new Set<LazyModule<object>>();
  /** Settles when every call made so far has begun. */
  #waiting: Promise<void> | null = null;

  part<M extends object, T extends object>(module: LazyModule<M>, create: (module: M) => T): LazyPart<T> {
    this.#modules.add(module);
    return new PartOf(module, create);
  }

  /** The members of the object that `pick` takes from a part. Once the code is loaded, calls go to it directly. */
  members<P extends object, T extends object>(part: LazyPart<P>, pick: (part: P) => T, verbs: LazyVerbs<T>): T {
    const made = Object.entries<{ readonly kind: VerbKind }>(verbs).map(([name, { kind }]) => {
      const member = (loaded: P) => pick(loaded)[name as keyof T] as AnyFunction;
      return [name, kind === "stream" ? stream(part, member) : this.#call(part, member)];
    });
    return Object.fromEntries(made) as T;
  }

  /** The same noun, whose code is loaded: its calls queue behind waiting ones. */
  inOrder<T extends object>(noun: T): T {
    const made = Object.entries(noun).map(([name, member]: [string, unknown]) => {
      if (typeof member !== "function") return [name, member];
      const call: AnyFunction = (...args) => {
        if (this.#waiting === null) return member(...args);
        const copies = copyArguments(args);
        return this.#queue(Promise.resolve(), () => member(...copies));
      };
      return [name, call];
    });
    return Object.fromEntries(made) as T;
  }

  #call<P extends object>(part: LazyPart<P>, member: (loaded: P) => AnyFunction): AnyFunction {
    return (...args) => {
      const loaded = this.#waiting === null ? part.loaded : null;
      if (loaded !== null) return member(loaded)(...args);
      const copies = copyArguments(args);
      return this.#queue(part.load(), (there) => member(there)(...copies));
    };
  }

  /** Begins the call when its code is ready, behind all waiting calls. */
  #queue<P>(ready: Promise<P>, begin: (there: P) => unknown): Promise<unknown> {
    const begun = Promise.all([ready, this.#waiting]).then(([there]) => ({ answer: begin(there) }));
    const waiting = begun.then(
      () => {},
      () => {},
    );
    this.#waiting = waiting;
    waiting.then(() => {
      if (this.#waiting === waiting) this.#waiting = null;
    });
    return begun.then(({ answer }) => answer);
  }

  async loadAll(): Promise<void> {
    await Promise.all([...this.#modules].map((module) => module.load()));
  }
}

function stream<P extends object>(part: LazyPart<P>, member: (loaded: P) => AnyFunction): AnyFunction {
  return (...args) => {
    const { loaded } = part;
    if (loaded !== null) return member(loaded)(...args);
    const copies = copyArguments(args);
    return new LazyStream(async () => {
      const iterable = member(await part.load())(...copies) as AsyncIterable<unknown>;
      return iterable[Symbol.asyncIterator]();
    });
  };
}

function loadFailed(cause: unknown): unknown {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("MissingDependency", "a file of the installed package holdfast could not be loaded", {
    hint: "The package was updated or removed while this process ran, or is incomplete: install it again and restart the process.",
    cause,
  });
}

/** How the members of a noun answer: its verbs in the catalogue. */
type VerbKinds<T> = { readonly [K in keyof T]: { readonly kind: VerbKind } };

export class Lifetime {
  #underWay = 0;
  #whenNone: (() => void) | null = null;
  readonly #end: () => Promise<void>;
  readonly #hurry: () => Promise<void>;
  #closing: Promise<void> | null = null;

  /**
   * close() first calls `hurry`, which asks calls under way to end soon. `end` runs once, when no call is under way any
   * more.
   */
  constructor(end: () => Promise<void>, hurry: () => Promise<void> = async () => {}) {
    this.#end = end;
    this.#hurry = hurry;
  }

  /** The same noun, whose reads and writes are counted while they run. A stream ends by itself. */
  of<T extends object>(noun: T, verbs: VerbKinds<T>): T {
    const calls = Object.entries<{ readonly kind: VerbKind }>(verbs).map(([name, { kind }]) => {
      const member = noun[name as keyof T] as AnyFunction;
      return [name, kind === "read" || kind === "write" ? this.#counted(member) : this.#refusing(member)];
    });
    return Object.freeze(Object.fromEntries(calls)) as T;
  }

  #counted(member: AnyFunction): AnyFunction {
    return (...args) => {
      if (this.#closing !== null) return refused();
      const result = member(...args) as Promise<unknown>;
      this.#underWay++;
      result.then(this.#done, this.#done);
      return result;
    };
  }

  #refusing(member: AnyFunction): AnyFunction {
    return (...args) => (this.#closing === null ? member(...args) : refused());
  }

  readonly #done = (): void => {
    this.#underWay--;
    if (this.#underWay === 0) this.#whenNone?.();
  };

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.#hurry();
    if (this.#underWay > 0) {
      await new Promise<void>((none) => {
        this.#whenNone = none;
      });
    }
    await this.#end();
  }
}

/** Awaiting or iterating the answer throws the error; an answer that is not used raises no unhandled rejection. */
function refused(): Promise<never> & AsyncIterable<never> {
  const rejected = Promise.reject(closed());
  rejected.catch(() => {});
  return Object.assign(rejected, {
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(closed()) }),
  });
}

function closed(): HoldfastError {
  return new HoldfastError("Closed", "the store is closed", { hint: "Open the store again, or call close() last." });
}
