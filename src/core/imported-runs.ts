// A run that came with an archive is held: it may still be at work where it came from, so nobody takes it here until somebody
// says so. The log is the same there and here; the mark is in the count of its signs of life, which no event tells: below 0.

export function isHeldRun({ beat }: { readonly beat: number }): boolean {
  return beat < 0;
}

/** The count with the mark and without it, each made from the other. */
export function toggleHold(beat: number): number {
  return -1 - beat;
}
