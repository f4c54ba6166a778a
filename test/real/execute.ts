// A program that executes one run, given the URL of a store and the length of the lease.
import { open } from "../../src/index.ts";
import { slow } from "./agents.ts";

const LONGER_THAN_ANY_TEST = 3_600_000;

const [url = "", leaseMs = ""] = process.argv.slice(2);
const store = await open(url);
await store.runs.execute(slow(LONGER_THAN_ANY_TEST), { session: "s", id: "job", leaseMs: Number(leaseMs) });
await store.close();
