// The locks of a simulated server: by name, shared or exclusive, held until they are released together. Waiters queue
// in the order of their requests, as in PostgreSQL: a shared request waits behind an exclusive one. A cycle of waiters
// is detected when it closes.

export type LockMode = "shared" | "exclusive";

interface Request<Owner> {
  readonly owner: Owner;
  readonly mode: LockMode;
  readonly grant: () => void;
  readonly refuse: (error: Error) => void;
}

interface Lock<Owner> {
  readonly holders: Map<Owner, LockMode>;
  queue: Request<Owner>[];
}

/** A deadlock: the lock's owners wait, directly or not, for the requester. */
export class Deadlock extends Error {}

export class LockTable<Owner> {
  readonly #locks = new Map<string, Lock<Owner>>();

  /** Resolves when the lock is held, to whether the owner had to wait. */
  async acquire(owner: Owner, name: string, mode: LockMode): Promise<boolean> {
    const lock = this.#locks.get(name) ?? { holders: new Map<Owner, LockMode>(), queue: [] };
    this.#locks.set(name, lock);
    const held = lock.holders.get(owner);
    if (held === "exclusive" || held === mode) return false;
    const granted = Promise.withResolvers<void>();
    const request = { owner, mode, grant: granted.resolve, refuse: granted.reject };
    lock.queue.push(request);
    if (blockers(lock, request).size === 0) {
      this.#grant(lock);
      return false;
    }
    if (this.#isCircle(owner)) {
      lock.queue = lock.queue.filter((one) => one !== request);
      throw new Deadlock(`waiting for ${name} would never end`);
    }
    await granted.promise;
    return true;
  }

  /** Fails the owner's wait, if it waits, with this error. */
  cancel(owner: Owner, error: Error): void {
    for (const lock of this.#locks.values()) {
      const request = lock.queue.find((one) => one.owner === owner);
      if (request === undefined) continue;
      lock.queue = lock.queue.filter((one) => one !== request);
      request.refuse(error);
      this.#grant(lock);
    }
  }

  releaseAll(owner: Owner): void {
    for (const [name, lock] of this.#locks) {
      if (!lock.holders.delete(owner)) continue;
      this.#grant(lock);
      if (lock.holders.size === 0 && lock.queue.length === 0) this.#locks.delete(name);
    }
  }

  #grant(lock: Lock<Owner>): void {
    for (const request of [...lock.queue]) {
      if (blockers(lock, request).size > 0) continue;
      lock.queue = lock.queue.filter((one) => one !== request);
      lock.holders.set(request.owner, request.mode);
      request.grant();
    }
  }

  /** Whether the owner waits, through others, for itself. */
  #isCircle(owner: Owner): boolean {
    const seen = new Set<Owner>();
    const next = [...this.#blockersOf(owner)];
    for (let one = next.pop(); one !== undefined; one = next.pop()) {
      if (one === owner) return true;
      if (seen.has(one)) continue;
      seen.add(one);
      next.push(...this.#blockersOf(one));
    }
    return false;
  }

  #blockersOf(owner: Owner): ReadonlySet<Owner> {
    for (const lock of this.#locks.values()) {
      const request = lock.queue.find((one) => one.owner === owner);
      if (request !== undefined) return blockers(lock, request);
    }
    return new Set();
  }
}

/**
 * The owners that a request waits for: holders, and earlier requests in the queue unless its owner holds the lock in
 * another mode.
 */
function blockers<Owner>({ holders, queue }: Lock<Owner>, { owner, mode }: Request<Owner>): ReadonlySet<Owner> {
  const found = new Set<Owner>();
  for (const [holder, held] of holders) if (holder !== owner && excludes(held, mode)) found.add(holder);
  if (holders.has(owner)) return found;
  for (const before of queue) {
    if (before.owner === owner) break;
    if (excludes(before.mode, mode)) found.add(before.owner);
  }
  return found;
}

function excludes(a: LockMode, b: LockMode): boolean {
  return a === "exclusive" || b === "exclusive";
}
