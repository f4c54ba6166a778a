// When the WAL is moved into the database, and which thread does it.
import type { Environment } from "../../../contracts/environment.ts";
import { Checkpointer } from "./checkpointer.ts";

/** WAL frames after which a commit also checkpoints. */
export const CHECKPOINT_FRAMES = 1000;
/** The same once there is a thread for it, should it not keep up. */
const LATE_CHECKPOINT_FRAMES = 16_000;
/** Frames after which the thread is asked: its own syncs make the commits beside it slower, so not too often. */
const ASKED_CHECKPOINT_FRAMES = 4000;
/** Rows of a commit that many wait for; the event loop is not to be held up any longer by a checkpoint in it. */
const BUSY_ROWS = 16;
/** Frames a commit takes beside those of its rows; an estimate, on the high side. */
const FRAMES_PER_COMMIT = 4;

/** While many write at once a thread checkpoints; before and after, commits do it themselves. */
export class Checkpoints {
  readonly #path: string;
  readonly #environment: Environment;
  readonly #setAuto: (frames: number) => void;
  #checkpointer: Checkpointer | null = null;
  #threadless: boolean;
  /** In the WAL since the last checkpoint, roughly. */
  #frames = 0;
  /** Of these, since the last commit that many waited for. */
  #quietFrames = 0;
  /** What the writer's connection is set to. */
  #auto = CHECKPOINT_FRAMES;

  constructor(path: string, environment: Environment, setAuto: (frames: number) => void) {
    this.#path = path;
    this.#environment = environment;
    this.#setAuto = setAuto;
    this.#threadless = path === ":memory:";
  }

  committed(rows: number): void {
    const busy = rows >= BUSY_ROWS;
    const frames = rows + FRAMES_PER_COMMIT;
    this.#frames += frames;
    this.#quietFrames = busy ? 0 : this.#quietFrames + frames;
    if (this.#checkpointer !== null) {
      // A WAL that is begun anew in time stays short, and a commit that need not make its file longer is a third faster.
      if (busy) this.#from(LATE_CHECKPOINT_FRAMES);
      else if (this.#quietFrames >= CHECKPOINT_FRAMES) this.#from(CHECKPOINT_FRAMES);
    }
    if (this.#frames < ASKED_CHECKPOINT_FRAMES) return;
    this.#frames = 0;
    if (!busy || this.#threadless) return;
    if (this.#checkpointer === null) {
      try {
        this.#checkpointer = new Checkpointer(this.#path);
      } catch (error) {
        // No thread may be started here: commits keep checkpointing.
        this.#threadless = true;
        this.#environment.log("info", "sqlite.checkpointer", { error: String(error) });
        return;
      }
      this.#from(LATE_CHECKPOINT_FRAMES);
    }
    this.#checkpointer.ask();
  }

  async close(): Promise<void> {
    await this.#checkpointer?.close();
  }

  #from(frames: number): void {
    if (frames === this.#auto) return;
    this.#auto = frames;
    this.#setAuto(frames);
  }
}
