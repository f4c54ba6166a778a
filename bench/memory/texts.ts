// Messages for the benches of search: words as often as in real texts (the second half as often as the first, and so on), in sessions of
// a hundred messages. The same seed gives the same messages on every machine.

const VOCABULARY = 60_000;
const SKEW = 1.07;
const SHORTEST = 6;
const LONGEST = 42;
/** More frequent words are stop words in real texts, which queries go without. */
const QUERY_WORDS_FROM = 60;
const SYLLABLES = ["ba", "ke", "mi", "no", "ru", "sta", "ve", "lo", "dra", "fi", "pen", "gor", "tu", "sha", "we", "zi"];

export const PER_SESSION = 100;

export interface BenchTexts {
  /** A message of so many words. */
  message(): string;
  /** Three to eight words of one message, of which some are frequent and some are rare. */
  query(): string;
}

export function createTexts(seed = 1): BenchTexts {
  const random = createRandom(seed);
  const sums = new Float64Array(VOCABULARY);
  let total = 0;
  for (let rank = 0; rank < VOCABULARY; rank++) {
    total += 1 / (rank + 2.7) ** SKEW;
    sums[rank] = total;
  }
  const drawRank = () => {
    const wanted = random() * total;
    let low = 0;
    let high = VOCABULARY - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const drawRanks = () =>
    Array.from({ length: SHORTEST + Math.floor(random() * (LONGEST - SHORTEST)) }, () => drawRank());
  return {
    message: () => drawRanks().map(wordOf).join(" "),
    query() {
      for (;;) {
        const ranks = [...new Set(drawRanks())].filter((rank) => rank >= QUERY_WORDS_FROM);
        const words = ranks.slice(0, 3 + Math.floor(random() * 6)).map(wordOf);
        if (words.length >= 3) return words.join(" ");
      }
    },
  };
}

/** Different for each rank, and no word that a stemmer would change. */
function wordOf(rank: number): string {
  let word = "";
  for (let left = rank + 16; left > 0; left = Math.floor(left / 16)) word += SYLLABLES[left % 16] ?? "";
  return `${word}k`;
}

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
}
