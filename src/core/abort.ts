// Signals that follow others. Not by AbortSignal.any(): what listens to such a one is kept for ever by Node, also when nobody
// is left who could abort it.

/** Aborts when `signal` does, or by itself; `free` lets go of the signal. */
export interface LinkedSignal {
  readonly controller: AbortController;
  readonly free: () => void;
}

export function linkSignal(signal: AbortSignal): LinkedSignal {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener("abort", follow, { once: true });
  return { controller, free: () => signal.removeEventListener("abort", follow) };
}
