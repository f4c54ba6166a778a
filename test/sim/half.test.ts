// The required simulations where every second thing goes wrong.
import { describe } from "vitest";
import { required } from "./required.ts";

describe("simulations at 50 %", () => {
  required(() => 0.5);
});
