// The parts of `npm run torture`, in the order in which they run.
import { bombs } from "./bombs.ts";
import { flips } from "./flips.ts";
import { freeze } from "./freezes.ts";
import { kill } from "./kills.ts";
import type { TorturePart } from "./part.ts";
import { permissions } from "./permissions.ts";
import { pooler } from "./pooler.ts";
import { race } from "./races.ts";

export const TORTURE_PARTS: readonly TorturePart[] = [kill, freeze, pooler, bombs, race, permissions, flips];
