/** Which rounds are played, and in which order. Pure. */
import { shuffled } from "./statistics.mjs";

/** Faults that are played with a way before it is stopped. */
const FAULTS_A_BLOCK = 4;

export const keyOf = ({ way, fault, round }) => `${way} ${fault} ${round}`;

/**
 * Blocks of rounds: one way, started once, and some faults. All ways are interleaved; every round of the matrix comes before
 * the next one begins, so that a run that is stopped has about as many rounds of each cell.
 *
 * @param {{ ways: string[], faults: { id: string, isLast?: boolean }[], rounds: number, done: Set<string>, random: () => number }} plan
 *   `done`: keys of rounds that need not be played
 * @returns {{ way: string, round: number, faults: string[] }[]}
 */
export function schedule({ ways, faults, rounds, done, random }) {
  const blocks = [];
  for (let round = 0; round < rounds; round += 1) {
    const ofRound = ways.flatMap((way) => {
      const missing = faults.filter(({ id }) => !done.has(keyOf({ way, fault: id, round })));
      return grouped(shuffled(missing, random)).map((group) => ({ way, round, faults: group.map(({ id }) => id) }));
    });
    blocks.push(...shuffled(ofRound, random));
  }
  return blocks;
}

/** Groups with at most one fault that has to be the last. */
function grouped(faults) {
  const last = faults.filter(({ isLast }) => isLast);
  const others = faults.filter(({ isLast }) => !isLast);
  const size = Math.max(last.length, Math.ceil(faults.length / FAULTS_A_BLOCK));
  const groups = Array.from({ length: size }, () => []);
  for (const [index, fault] of others.entries()) groups[index % size].push(fault);
  for (const [index, fault] of last.entries()) groups[index].push(fault);
  return groups.filter((group) => group.length > 0);
}
