// How a child tells what it knows: a line, written before anything else happens.
import { writeSync } from "node:fs";

const nap = new Int32Array(new SharedArrayBuffer(4));

/** All of it before anything else happens, however slowly the other side reads. */
export function say(line: string): void {
  for (let left = Buffer.from(`${line}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(nap, 0, 0, 1);
    }
  }
}
