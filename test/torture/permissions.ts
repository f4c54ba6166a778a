// The modes of what every command creates, with each umask once: more rounds would say nothing more.
import assert from "node:assert/strict";
import { createdUnder, EVERY_UMASK, exposedAmong } from "../real/permissions.ts";
import type { TorturePart } from "./part.ts";

export const permissions: TorturePart = {
  name: "permissions",
  about: "the modes of what every command creates, with umask 000, 022 and 077",
  async run({ folder, progress }) {
    let files = 0;
    for (const umask of EVERY_UMASK) {
      const created = createdUnder(umask, folder, true);
      assert.deepEqual(exposedAmong(created), [], `with umask ${umask.toString(8)}`);
      files += created.length;
      progress(`permissions: umask ${umask.toString(8).padStart(3, "0")}, ${created.length} files and directories`);
    }
    return [`${files} files and directories with ${EVERY_UMASK.length} umasks, all 0600 and 0700`];
  },
};
