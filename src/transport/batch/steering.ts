/**
 * How a process leaves a port to its successor without losing a datagram.
 *
 * Sockets that share an address form a *group*, which the kernel numbers: a socket that joins gets the next number, and
 * when one leaves, the last one takes its number. A program on the group picks the number that a new datagram goes to; a
 * number that no member has falls back to a hash over *all* members. What is queued on a socket is lost when it closes.
 *
 * Hence the rule: **a socket closes only after a program that never names it has been in force for a grace period and
 * its queue has been drained; and the program is renewed after each close.** The successor binds all its sockets first, so
 * they follow the old ones. The old ones leave from the highest number down: each time the last of the young takes
 * the number just freed, and so the young stay one unbroken range, which is all that a program need name.
 *
 * One group per listen address; the steps are the same for each. If the sequence breaks off anywhere, `unsteer` is always
 * sound: the kernel spreads over whoever is there.
 */

/** A range of members of a group: numbers `base` to `base + count - 1`. */
export interface Range {
  readonly base: number;
  readonly count: number;
}

/** One step: steer to `before`, wait the grace period, drain and close member `close`, steer to `after`. */
export interface LeaveStep {
  /** Number, among the old sockets, of the one to close. */
  readonly close: number;
  /**
   * Excludes the young socket that is about to be renumbered, so that no number is ever without a member. With a single
   * young socket that cannot be: for the moment between close and `after` an old socket may be chosen, which still
   * answers, and which the next step drains before it closes.
   */
  readonly before: Range;
  readonly after: Range;
}

/**
 * The steps by which `old` sockets leave a group to `young` ones, in order. After the last one, `unsteer` the group.
 *
 * @param old how many sockets leave, 1 or more; they have the numbers 0 to `old - 1`
 * @param young how many stay, 1 or more; they have the numbers from `old`
 */
export function leaveSteps(old: number, young: number): LeaveStep[] {
  const steps: LeaveStep[] = [];
  for (let close = old - 1; close >= 0; close -= 1) {
    steps.push({
      close,
      before: { base: close + 1, count: Math.max(1, young - 1) },
      after: { base: close, count: young },
    });
  }
  return steps;
}

/**
 * In which order the young sockets are numbered once the old ones have left: element `n` is the place in which the
 * socket with number `n` was bound. They need it when they leave in turn.
 */
export function orderAfterLeaving(old: number, young: number): number[] {
  const group = Array.from({ length: old + young }, (_, number) => number - old);
  for (const { close } of leaveSteps(old, young)) {
    const last = group.pop();
    if (last !== undefined && close < group.length) group[close] = last;
  }
  return group;
}
