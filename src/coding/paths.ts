// See core/paths.ts: the store checks them as well.
export { checkPath, unsafe } from "../core/paths.ts";
