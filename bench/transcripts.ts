// Deterministic agent transcripts for benchmarks and tests: the same seed gives the same bytes on every machine, so
// figures can be compared across commits without shipping data. Two kinds, because they break different storage
// schemes: ordinary prose, and the repetitive kind that coding agents write (whole files read again and again).

/** JSONL of agent messages in ordinary text; zstd level 3 leaves about 28 %. At least `bytes` long, whole lines. */
export function ordinaryTranscript(bytes: number, seed = 1): Uint8Array {
  const random = xorshift(seed);
  const writer = new Writer(random);
  while (writer.length < bytes) {
    writer.line(writer.turn % 2 === 0 ? "user" : "assistant", writer.prose(300 + random(900)));
  }
  return writer.bytes();
}

/**
 * JSONL as repetitive as a coding agent's: tool results that print whole files and earlier output again. zstd level 3
 * leaves about 8 % of it from 8 MB upwards; shorter ones have had less time to repeat themselves.
 */
export function repetitiveTranscript(bytes: number, seed = 1): Uint8Array {
  const random = xorshift(seed);
  const writer = new Writer(random);
  const shown = new ShownFiles();
  while (writer.length < bytes) {
    if (random(8) === 0) {
      writer.line("assistant", writer.prose(100 + random(300)));
      continue;
    }
    const distance = pickDistance(random, writer.length);
    const again = distance === 0 ? undefined : shown.takeFrom(writer.length - distance);
    const content = again ?? writer.file(2_000 + random(10_000));
    shown.add(writer.length, content);
    writer.line("tool_result", content);
  }
  return writer.bytes();
}

/** `count` growing prefixes of a transcript, each ending at a line end and the last being the whole. */
export function versions(full: Uint8Array, count: number): Uint8Array[] {
  const result: Uint8Array[] = [];
  for (let i = 1; i <= count; i++) {
    const lineEnd = full.indexOf(NEWLINE, Math.ceil((full.length * i) / count) - 1);
    result.push(full.subarray(0, lineEnd === -1 ? full.length : lineEnd + 1));
  }
  return result;
}

/**
 * How far back the next tool result repeats, in bytes; 0 for new content. The shares are out of 100 and chosen so that
 * zstd level 3, whose window is 2 MB and so misses the farthest kind, leaves 8 %.
 */
const REPEATS: readonly { distance: number; share: number }[] = [
  { distance: 50_000, share: 39 },
  { distance: 500_000, share: 35 },
  { distance: 3_000_000, share: 9 },
];

const NEWLINE = 0x0a;

type Random = (below: number) => number;

/** Xorshift32; integers below a bound. Only 32-bit integer operations, so that every engine agrees. */
function xorshift(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** While a far repeat is not possible yet, the next nearer one is used, so that the beginning is repetitive too. */
function pickDistance(random: Random, length: number): number {
  let roll = random(100);
  let possible = 0;
  for (const { distance, share } of REPEATS) {
    if (distance + distance / 10 <= length) possible = distance;
    if (roll < share) return possible;
    roll -= share;
  }
  return 0;
}

/** The printed contents in the order of their last print: a repeat moves to the end, so distances are true distances. */
class ShownFiles {
  readonly #entries: { at: number; content: string }[] = [];

  add(at: number, content: string): void {
    this.#entries.push({ at, content });
  }

  /** Removes and returns the content that was last printed nearest after `position`; the caller prints it again. */
  takeFrom(position: number): string | undefined {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.at ?? 0) < position) low = middle + 1;
      else high = middle;
    }
    return this.#entries.splice(low, 1)[0]?.content;
  }
}

class Writer {
  length = 0;
  turn = 0;
  readonly #lines: Buffer[] = [];
  readonly #random: Random;
  readonly #phrases: readonly string[];
  #parent = "";

  constructor(random: Random) {
    this.#random = random;
    this.#phrases = makePhrases(random);
  }

  line(role: "user" | "assistant" | "tool_result", content: string): void {
    const id = this.#hex(32);
    const record = {
      type: role,
      uuid: id,
      parent: this.#parent,
      // A fixed epoch and a fixed pace: the generator has no clock.
      timestamp: new Date(1_760_000_000_000 + this.turn * 7_000 + this.#random(7_000)).toISOString(),
      message: { role, content },
    };
    const bytes = Buffer.from(`${JSON.stringify(record)}\n`);
    this.#lines.push(bytes);
    this.length += bytes.length;
    this.turn += 1;
    this.#parent = id;
  }

  prose(length: number): string {
    let text = "";
    let words = 0;
    while (text.length < length) {
      text += this.#phrase();
      words += 1;
      if (words % 4 === 0) text += this.#random(6) === 0 ? ".\n\n" : ". ";
      else text += this.#random(5) === 0 ? ", " : " ";
    }
    return text;
  }

  /** A text like a printed source file: numbered lines of code with some comments. */
  file(length: number): string {
    let text = `src/${this.#word()}/${this.#word()}.ts\n`;
    for (let number = 1; text.length < length; number++) {
      text += `${String(number).padStart(5)}→${this.#codeLine()}\n`;
    }
    return text;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#lines, this.length);
  }

  #codeLine(): string {
    const indent = "  ".repeat(1 + this.#random(4));
    switch (this.#random(6)) {
      case 0:
        return `${indent}// ${this.#phrase()} ${this.#phrase()}`;
      case 1:
        return `${indent}const ${this.#name()} = await ${this.#word()}.${this.#name()}(${this.#word()});`;
      case 2:
        return `${indent}if (${this.#word()}.${this.#word()} === ${this.#random(100)}) return ${this.#name()};`;
      case 3:
        return `${indent}expect(${this.#name()}(${this.#word()})).toBe("${this.#phrase()}");`;
      case 4:
        return `${indent}${this.#name()}: ${this.#word()}[] | undefined;`;
      default:
        return `${indent}}`;
    }
  }

  #name(): string {
    const second = this.#word();
    return this.#word() + second.charAt(0).toUpperCase() + second.slice(1);
  }

  #phrase(): string {
    return this.#random(2) === 0 ? this.#word() : skewed(this.#random, this.#phrases);
  }

  #word(): string {
    return skewed(this.#random, VOCABULARY);
  }

  #hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += this.#random(0x10000).toString(16).padStart(4, "0");
    return text;
  }
}

/** Phrases rather than single words, because text in which every word is independent compresses worse than people's. */
function makePhrases(random: Random): string[] {
  return Array.from({ length: 16_000 }, () =>
    Array.from({ length: 2 + random(3) }, () => skewed(random, VOCABULARY)).join(" "),
  );
}

/** The smaller of two draws: early items come more often, as words do. */
function skewed(random: Random, items: readonly string[]): string {
  const index = Math.min(random(items.length), random(items.length));
  return items[index] ?? "";
}

const WORDS: readonly string[] = `
the to of and a in is that it for on with as this be are not was from by or at an we you have if can but which will
file error test value when state call result then should before after only because code line store run message first
session commit key table read write check type function name return path build index object list update change fails
add new time data query number default error request response server client token batch event branch session row
migration retry timeout connection transaction snapshot cursor segment payload buffer stream worker queue lease epoch
handler option config schema module import export parser compiler version release package script local remote lock
without between during already instead however maybe really clearly likely probably another several every either both
expected actual missing unknown invalid empty duplicate pending failed finished running stopped cancelled resumed
now look make use need want find keep move remove replace rename wrap split merge join sort filter count open close
café naïve — ✓ user's doesn't isn't can't won't let's that's I'll here's there's they're question answer reason cause
database column constraint foreign primary unique binary integer text blob hash digest signature chain verify restore
agent prompt context window summary transcript tool budget cost model reply plan step task goal memory note search
folder directory symlink permission process signal memory thread socket header status body method route cookie login
`
  .trim()
  .split(/\s+/);

/** Common words first, then their derived forms, which `skewed` therefore draws more rarely. */
const VOCABULARY: readonly string[] = ["", "s", "ing", "ed"].flatMap((ending) => WORDS.map((word) => word + ending));
