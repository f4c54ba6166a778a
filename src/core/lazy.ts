// Parts of an open store whose code is loaded when one of their calls is first made. Most programs use few parts, and
// loading all of them would take most of the time that opening takes.
import { HoldfastError } from "../contracts/errors.ts";
import type { VerbKind } from "../contracts/verbs/vocabulary.ts";
import { copyArguments } from "./argument-copy.ts";

/** How each member of a part answers. What answers at once cannot wait for code to be loaded. */
export type LazyVerbs<T> = { readonly [K in keyof T]: { readonly kind: Exclude<VerbKind, "local"> } };

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Code that is loaded once in a process, when it is first needed. */
export class LazyModule<M extends object> {
  readonly #load: () => Promise<M>;
  #loading: Promise<M> | null = null;
  #loaded: M | null = null;

  constructor(load: () => Promise<M>) {
    this.#load = load;
  }

  /** null until it is loaded. */
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

/** A part of one open store: made when its code is there and something needs it. */
export interface LazyPart<T extends object> {
  /** null until its code is loaded. */
  readonly loaded: T | null;
  /** Whether something needed it. */
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

/** The lazy parts of one open store. A call that comes behind one that waits for its code waits for that code too. */
export class LazyParts {
  readonly #modules = new Set<LazyModule<object>>();
  /** Settles when every call until now has begun. */
  #waiting: Promise<void> | null = null;

  part<M extends object, T extends object>(module: LazyModule<M>, create: (module: M) => T): LazyPart<T> {
    this.#modules.add(module);
    return new PartOf(module, create);
  }

  /** The members of a part, or of what `pick` takes from it. Once the code is there, calls go straight to it. */
  members<P extends object, T extends object>(part: LazyPart<P>, pick: (part: P) => T, verbs: LazyVerbs<T>): T {
    const made = Object.entries<{ readonly kind: VerbKind }>(verbs).map(([name, { kind }]) => {
      const member = (loaded: P) => pick(loaded)[name as keyof T] as AnyFunction;
      return [name, kind === "stream" ? stream(part, member) : this.#call(part, member)];
    });
    return Object.fromEntries(made) as T;
  }

  /** The same noun, whose code is there: its calls come behind those that wait. */
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

  /** Begins it when it can, behind all that wait to begin. */
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

/**
 * An iterator whose code comes later. It begins with its first next(), as a generator does. It is no generator, because return()
 * must reach one that waits in next(), and a generator would queue it.
 */
class LazyStream implements AsyncIterableIterator<unknown> {
  readonly #begin: () => Promise<AsyncIterator<unknown>>;
  #inner: Promise<AsyncIterator<unknown>> | null = null;
  /** Once it is there, so that each next() costs no promise more. */
  #ready: AsyncIterator<unknown> | null = null;
  #waiting = 0;
  #isOver = false;

  constructor(begin: () => Promise<AsyncIterator<unknown>>) {
    this.#begin = begin;
  }

  next(): Promise<IteratorResult<unknown>> {
    return this.#ready?.next() ?? this.#firstNext();
  }

  async #firstNext(): Promise<IteratorResult<unknown>> {
    if (this.#isOver && this.#inner === null) return { value: undefined, done: true };
    this.#inner ??= this.#begin();
    this.#waiting++;
    const inner = await this.#inner;
    this.#waiting--;
    const result = inner.next();
    // Calls are answered in their order: those that wait come first.
    if (this.#waiting === 0) this.#ready = inner;
    return result;
  }

  async return(value?: unknown): Promise<IteratorResult<unknown>> {
    this.#isOver = true;
    await (await this.#inner?.catch(() => undefined))?.return?.();
    return { value, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

function loadFailed(cause: unknown): unknown {
  if (cause instanceof HoldfastError) return cause;
  return new HoldfastError("MissingDependency", "a file of the installed package holdfast could not be loaded", {
    hint: "It was updated or removed while this process ran, or is incomplete: install it again and restart the process.",
    cause,
  });
}
