// Colours, named by meaning. Text is plain if the stream is not a terminal, NO_COLOR is set or the terminal is dumb.
import { styleText } from "node:util";
import type { Io, OutStream } from "./io.ts";

export interface Style {
  heading(text: string): string;
  strong(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  name(text: string): string;
}

type Format = Parameters<typeof styleText>[0];

export function styleFor(stream: OutStream, env: Io["env"]): Style {
  const coloured = stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  // By default styleText would check process.stdout, but the output may be another stream.
  const as = (format: Format) => (text: string) =>
    coloured && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    heading: as("bold"),
    strong: as("bold"),
    faint: as("dim"),
    good: as("green"),
    bad: as("red"),
    warn: as("yellow"),
    name: as("cyan"),
  };
}
