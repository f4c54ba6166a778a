// The parts of an identifier in camel case: foo and Bar of fooBar, HTTP and Server of HTTPServer.

const BOUNDARY = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/u;

export interface WordPart {
  readonly text: string;
  /** Code units from the beginning of the word. */
  readonly start: number;
}

/** Returns [] if the word has one part. Parts of one letter are left out: the i of iPhone would match too much. */
export function camelCaseParts(word: string): readonly WordPart[] {
  if (word === word.toLowerCase()) return [];
  const texts = word.split(BOUNDARY);
  if (texts.length < 2) return [];
  let start = 0;
  const parts = texts.map((text) => {
    start += text.length;
    return { text, start: start - text.length };
  });
  return parts.filter(({ text }) => text.length > 1);
}
