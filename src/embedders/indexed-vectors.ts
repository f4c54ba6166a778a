// The answer of OpenAI's and Voyage's APIs: vectors with the index of their text, in any order, as numbers or as base64.
import { isObject } from "../core/check.ts";
import { ModelError } from "../models/failure.ts";

export function vectorsByIndex(
  provider: string,
  answer: unknown,
  count: number,
): readonly (Float32Array | readonly number[])[] {
  const unusable = (why: string) => new ModelError("InvalidAnswer", `${provider}: ${why}`, { retryable: false });
  const data: unknown = isObject(answer) ? answer.data : undefined;
  if (!Array.isArray(data)) throw unusable("the answer has no list of embeddings");
  if (data.length !== count) throw unusable(`the answer has ${data.length} embeddings for ${count} texts`);
  const vectors = new Map<unknown, Float32Array | readonly number[]>();
  for (const [position, one] of data.entries()) {
    const { index = position, embedding } = isObject(one) ? one : {};
    const vector = typeof embedding === "string" ? decodeBase64(embedding) : embedding;
    if (!(vector instanceof Float32Array || Array.isArray(vector)))
      throw unusable("an embedding is no list of numbers");
    vectors.set(index, vector);
  }
  return Array.from({ length: count }, (_, index) => {
    const vector = vectors.get(index);
    if (vector === undefined) throw unusable(`the answer has no embedding with index ${index}`);
    return vector;
  });
}

/** Numbers of four bytes, the lowest byte first. */
function decodeBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  return Float32Array.from({ length: Math.floor(bytes.byteLength / 4) }, (_, i) => bytes.readFloatLE(4 * i));
}
