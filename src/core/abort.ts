// Signals that follow other signals. Not by AbortSignal.any(): Node keeps the listeners of such a signal for ever, even
// when it can no longer abort.

/** Aborts when `signal` does, or by itself; `free` removes the listener from the signal. */
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
