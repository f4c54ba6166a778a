// Copies of a call's arguments. If the code of a call is still being loaded, the call reads its arguments later, but
// the caller may change an object as soon as it has the promise. The call must use the values of the moment when it was
// made.

/** Deeper data is not copied: a limit of the store refuses it anyway. */
const MOST_LEVELS = 1000;

/** Copies plain data and bytes. Functions, instances of classes and objects with functions in them stay the same object. */
export function copyArguments(args: readonly unknown[]): readonly unknown[] {
  return args.map((argument) => {
    try {
      return copyData(argument, new Map(), 0);
    } catch {
      // A getter or a proxy threw. The call itself will meet the same error and names the argument.
      return argument;
    }
  });
}

function copyData(value: unknown, copies: Map<object, unknown>, level: number): unknown {
  if (typeof value !== "object" || value === null || level > MOST_LEVELS) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  if (value instanceof Uint8Array) {
    const copy = Buffer.isBuffer(value) ? Buffer.from(value) : value.slice();
    copies.set(value, copy);
    return copy;
  }
  if (Array.isArray(value)) {
    // An array with gaps keeps them: readers distinguish gaps from undefined.
    const copy: unknown[] = new Array(value.length);
    copies.set(value, copy);
    for (const index of Object.keys(value)) copy[Number(index)] = copyData(value[Number(index)], copies, level + 1);
    return copy;
  }
  return isPlainData(value) ? copyFields(value, copies, level) : value;
}

function copyFields(value: object, copies: Map<object, unknown>, level: number): object {
  const copy: object = Object.create(Object.getPrototypeOf(value));
  copies.set(value, copy);
  for (const [name, field] of Object.entries(value)) {
    const copied = copyData(field, copies, level + 1);
    Object.defineProperty(copy, name, { value: copied, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

/**
 * False for an object with functions, such as an agent: it is used by its identity, and its fields are no data of the
 * call.
 */
function isPlainData(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  if (Object.getOwnPropertySymbols(value).length > 0) return false;
  return Object.values(value).every((field) => typeof field !== "function");
}
