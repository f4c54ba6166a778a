// Programs that say what they print: `// → text` is what the line prints; `…` stands for anything.

/** What it prints, in order. */
export function printsOf(text: string): string[] {
  return [...text.matchAll(/\/\/ → (.*)$/gm)].map((match) => match[1]?.trim() ?? "");
}

/** The first part that is not printed, as whole lines, behind those before it. Any white space is as good as another. */
export function firstMissing(output: string, parts: readonly string[]): string | undefined {
  let from = 0;
  return parts.find((part) => {
    const literal = part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const pattern = new RegExp(`^${literal.replaceAll(/\s+/g, "\\s+").replaceAll("…", "[^]*?")}$`, "gm");
    pattern.lastIndex = from;
    const found = pattern.test(output);
    from = pattern.lastIndex;
    return !found;
  });
}
