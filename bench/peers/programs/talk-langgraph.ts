// The same conversation in LangGraph: a graph with one node that answers, one invocation a turn, the official savers.
import { DatabaseSync } from "node:sqlite";
import { programSetting } from "./load.ts";
import { report, type TalkSetting, talk } from "./talk.ts";

export interface LangGraphTalkSetting extends TalkSetting {
  /** The store: a file, or the URL of a database. */
  readonly store: string;
  /** The messages as a delta channel, which is beta: a checkpoint keeps what was added instead of all of them. */
  readonly delta: boolean;
}

interface Graph {
  addNode(name: string, node: () => { messages: readonly object[] }): Graph;
  addEdge(from: string, to: string): Graph;
  compile(options: { readonly checkpointer: object }): {
    invoke(input: { messages: readonly object[] }, config: object): Promise<unknown>;
  };
}

interface LangGraph {
  readonly StateGraph: new (state: object) => Graph;
  readonly StateSchema: new (fields: { readonly messages: object }) => object;
  readonly MessagesAnnotation: object;
  readonly MessagesDeltaValue: object;
  readonly START: string;
  readonly END: string;
}

interface Messages {
  readonly HumanMessage: new (text: string) => object;
  readonly AIMessage: new (text: string) => object;
}

interface Saver {
  readonly checkpointer: object;
  close(): Promise<void>;
}

type Param = string | number | Uint8Array | null;

const { store, delta, turns }: LangGraphTalkSetting = programSetting();
const lang = {
  graph: "@langchain/langgraph",
  messages: "@langchain/core/messages",
  sqlite: "@langchain/langgraph-checkpoint-sqlite",
  postgres: "@langchain/langgraph-checkpoint-postgres",
};
const graphs: LangGraph = await import(lang.graph);
const { HumanMessage, AIMessage }: Messages = await import(lang.messages);

/**
 * The part of better-sqlite3 that the saver uses, on Node's own SQLite: then nothing is compiled, and both systems run on the same
 * SQLite with the same durability (WAL, synchronous=FULL; better-sqlite3's default would be NORMAL).
 */
class Database {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file);
  }

  pragma(text: string): void {
    this.#db.exec(`PRAGMA ${text}`);
  }

  exec(sql: string): void {
    this.#db.exec(sql);
  }

  prepare(sql: string) {
    const statement = this.#db.prepare(sql);
    const bind = (values: readonly (Param | undefined)[]): Param[] => values.map((value) => value ?? null);
    return {
      run: (...values: (Param | undefined)[]) => statement.run(...bind(values)),
      get: (...values: (Param | undefined)[]) => statement.get(...bind(values)),
      all: (...values: (Param | undefined)[]) => statement.all(...bind(values)),
    };
  }

  transaction<A extends unknown[]>(body: (...args: A) => void): (...args: A) => void {
    return (...args) => {
      this.#db.exec("BEGIN");
      try {
        body(...args);
        this.#db.exec("COMMIT");
      } catch (error) {
        this.#db.exec("ROLLBACK");
        throw error;
      }
    };
  }

  close(): void {
    this.#db.close();
  }
}

async function sqliteSaver(file: string): Promise<Saver> {
  const { SqliteSaver }: { SqliteSaver: new (db: Database) => object } = await import(lang.sqlite);
  const db = new Database(file);
  db.pragma("journal_mode=WAL");
  db.pragma("synchronous=FULL");
  return { checkpointer: new SqliteSaver(db), close: async () => db.close() };
}

async function postgresSaver(url: string): Promise<Saver> {
  interface PostgresSaver {
    setup(): Promise<void>;
    end(): Promise<void>;
  }
  const { PostgresSaver }: { PostgresSaver: { fromConnString(url: string): PostgresSaver } } = await import(
    lang.postgres
  );
  const checkpointer = PostgresSaver.fromConnString(url);
  await checkpointer.setup();
  return { checkpointer, close: () => checkpointer.end() };
}

const saver = store.startsWith("postgres") ? await postgresSaver(store) : await sqliteSaver(store);
const state = delta ? new graphs.StateSchema({ messages: graphs.MessagesDeltaValue }) : graphs.MessagesAnnotation;
let reply = "";
const graph = new graphs.StateGraph(state)
  .addNode("model", () => ({ messages: [new AIMessage(reply)] }))
  .addEdge(graphs.START, "model")
  .addEdge("model", graphs.END)
  .compile({ checkpointer: saver.checkpointer });

const config = { configurable: { thread_id: "talk" }, durability: "sync" };
const result = await talk(turns, async (question, answer) => {
  reply = answer;
  await graph.invoke({ messages: [new HumanMessage(question)] }, config);
});
await saver.close();
report(result);
