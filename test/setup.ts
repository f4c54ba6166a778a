// Vitest runs this before every test file.
import { afterAll, expect } from "vitest";
import { endFile } from "./file-end.ts";
import { startProcessorTime } from "./processor-time.ts";

const writeProcessorTime = startProcessorTime();
// Hooks run in the opposite order: what a file cleans up counts as well.
afterAll(() => writeProcessorTime(expect.getState().testPath));
afterAll(endFile);
