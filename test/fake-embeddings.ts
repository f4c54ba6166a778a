// A loopback server with the embedding APIs of OpenAI, Voyage and Cohere. Its vectors are a function of the texts, so that a test knows
// which vector belongs to which text.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface EmbeddingRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what was sent, whatever it is.
  readonly body: any;
}

/** null: the usual answer. */
type EmbeddingScript = (
  request: EmbeddingRequest,
  count: number,
) => EmbeddingAnswer | null | Promise<EmbeddingAnswer | null>;

type EmbeddingAnswer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly json?: unknown }
  | { readonly text: string }
  | { readonly json: unknown }
  | "reset"
  | "stall";

export interface FakeEmbeddings {
  /** Without a path. */
  readonly url: string;
  readonly requests: readonly EmbeddingRequest[];
  close(): Promise<void>;
}

/** Letters of the text, its length, and the size of the batch never: the vector of a text is always the same. */
export function fakeVector(text: string, dimensions: number): readonly number[] {
  const vector = Array.from({ length: dimensions }, () => 0.5);
  for (const letter of text) {
    const at = (letter.codePointAt(0) ?? 0) % dimensions;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  return vector;
}

export async function startFakeEmbeddings(script: EmbeddingScript = () => null): Promise<FakeEmbeddings> {
  const requests: EmbeddingRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const body: unknown = JSON.parse(Buffer.concat(pieces).toString("utf8"));
    const request = { path: incoming.url ?? "", headers: incoming.headers, body };
    requests.push(request);
    send(response, (await script(request, requests.length - 1)) ?? usualAnswer(request));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, answer: EmbeddingAnswer): void {
  if (answer === "stall") return;
  if (answer === "reset") return void response.socket?.resetAndDestroy();
  if ("text" in answer) return void response.writeHead(200).end(answer.text);
  const [status, headers] = "status" in answer ? [answer.status, answer.headers] : [200, {}];
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(answer.json ?? {}));
}

const DIMENSIONS = 8;

function usualAnswer({ path, body }: EmbeddingRequest): EmbeddingAnswer {
  if (path === "/v2/embed") {
    const texts: readonly string[] = body.texts;
    return {
      json: { embeddings: { float: texts.map((text) => fakeVector(text, body.output_dimension ?? DIMENSIONS)) } },
    };
  }
  if (path !== "/v1/embeddings") return { status: 404, json: { error: { message: "no such path" } } };
  const texts: readonly string[] = body.input;
  const size: number = body.dimensions ?? body.output_dimension ?? DIMENSIONS;
  const data = texts.map((text, index) => ({ object: "embedding", index, embedding: fakeVector(text, size) }));
  // The order is not promised by these APIs.
  return {
    json: { object: "list", data: data.reverse(), model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } },
  };
}
