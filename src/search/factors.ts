// By what the score of a message is multiplied: what users say counts a little more and what tools print a little less, and a
// message counts more if the query names its speaker.
import type { Role } from "../contracts/messages.ts";
import { MESSAGE_FIELDS } from "./index/message-item.ts";
import { fieldTerm, type IndexSnapshot, ROLES } from "./index/reader.ts";
import type { UnitFactors } from "./ranking/ranking.ts";
import { ONE } from "./ranking/weights.ts";
import type { IndexQuery } from "./text/query.ts";

const ROLE_FACTORS: Readonly<Record<Role, number>> = {
  user: 72,
  assistant: ONE,
  system: ONE,
  tool: 56,
  developer: ONE,
};
const SPEAKER_FACTOR = 80;
const OF_FLAGS: readonly number[] = ROLES.map((role) => ROLE_FACTORS[role]);

export interface MessageFactors extends UnitFactors {
  /** Each is 1 for what is neither more nor less. */
  ofRole(unit: number): number;
  ofSpeaker(unit: number): number;
}

export async function readMessageFactors(snapshot: IndexSnapshot, query: IndexQuery): Promise<MessageFactors> {
  const names = query.terms.concat(query.phrases.flat()).map((term) => fieldTerm(MESSAGE_FIELDS.speaker, term));
  const lists = await snapshot.readPostings([...new Set(names)]);
  const { flags, count } = snapshot.units;
  const named = lists.some((list) => list.count > 0) ? new Uint8Array(count) : null;
  if (named !== null) {
    for (const { units, count: found } of lists) for (let at = 0; at < found; at++) named[units[at] ?? 0] = 1;
  }
  const roleOf = (unit: number) => OF_FLAGS[flags[unit] ?? 0] ?? ONE;
  const speakerOf = (unit: number) => (named !== null && named[unit] === 1 ? SPEAKER_FACTOR : ONE);
  return {
    max: Math.max(...OF_FLAGS) * (named === null ? ONE : SPEAKER_FACTOR),
    factorOf: (unit) => roleOf(unit) * speakerOf(unit),
    ofRole: (unit) => roleOf(unit) / ONE,
    ofSpeaker: (unit) => speakerOf(unit) / ONE,
  };
}
