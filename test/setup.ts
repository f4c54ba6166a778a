// Vitest runs this before every test file.
import { afterAll } from "vitest";
import { endFile } from "./file-end.ts";

afterAll(endFile);
