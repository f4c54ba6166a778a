// Programs that tests start from the sources take three times as long to begin as compiled ones. `npm test` keeps the
// compiled code for all of them.

/** For the environment of a process that inherits nothing else. */
export const COMPILED: Readonly<Record<string, string>> =
  process.env.NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
