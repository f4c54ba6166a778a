// A run that came with an archive is held: it may still be running where it came from, so no worker claims it here
// until resume() or unpause(). The log is the same in both stores; the mark is a heartbeat count below 0, which no
// event contains.

export function isHeldRun({ beat }: { readonly beat: number }): boolean {
  return beat < 0;
}

/** The count with the mark and without it, each made from the other. */
export function toggleHold(beat: number): number {
  return -1 - beat;
}
