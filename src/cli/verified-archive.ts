// Verifies an archive before a new store is created for it. The archive is read twice: to verify all of it, then to
// import it. Standard input can be read only once, so the first read copies it into a folder that only the user can
// read.
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { checkArchive } from "../archive/import.ts";
import { realEnvironment } from "../core/environment.ts";
import { fileIn } from "./bytes.ts";
import { fileFailure } from "./failure.ts";
import type { Io } from "./io.ts";

/** Verifies the archive and calls `use` with it; "-" is standard input. */
export async function withVerifiedArchive<T>(
  file: string,
  io: Io,
  use: (archive: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  if (file !== "-") {
    await verify(fileIn(file, io));
    return await use(fileIn(file, io));
  }
  const folder = await mkdtemp(path.join(tmpdir(), "holdfast-import-"));
  try {
    const copy = path.join(folder, "archive");
    const handle = await open(copy, "wx", 0o600);
    try {
      await verify(copyWhileReading(fileIn(file, io), handle, copy));
    } finally {
      await handle.close();
    }
    return await use(fileIn(copy, io));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function verify(archive: AsyncIterable<Uint8Array>): Promise<void> {
  const { openScratch } = await import("../open.ts");
  const environment = realEnvironment();
  await checkArchive(environment, () => openScratch({ environment }), archive);
}

/** Copies piece by piece as the reader reads, so that input that is no archive is refused at its first line. */
async function* copyWhileReading(
  pieces: AsyncIterable<Uint8Array>,
  handle: FileHandle,
  file: string,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    await handle.writeFile(piece).catch((error) => {
      throw fileFailure(error, file);
    });
    yield piece;
  }
}
