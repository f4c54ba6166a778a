// What a helper has to clean up when the test file that used it ends. A worker runs many test files and loads each helper
// once, so a hook at the top of a helper would belong to the first of them only.

const pending = new Set<() => unknown>();

/** Runs once, after the last test of the file that runs now. The same function twice counts once. */
export function onFileEnd(clean: () => unknown): void {
  pending.add(clean);
}

/** Called by test/setup.ts. */
export async function endFile(): Promise<void> {
  for (const clean of pending) {
    pending.delete(clean);
    await clean();
  }
}
