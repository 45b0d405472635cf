/*
 * What the status page says of other servers of the same zones, as text like the rest of its script (see page-script.ts).
 */

/** Functions of the status page's script that show siblings. They use `ago` and `listOf` of it. */
export const PAGE_SIBLINGS = `
  /** A difference of clocks that is worth a word, milliseconds. */
  const CLOCK_DIFFERENCE_MS = 5000;

  const peersOf = (view) => (view.siblings ? view.siblings.peers : []);

  /** What is to be read at the top of the page. */
  function siblingProblems(view) {
    return view.siblings && view.siblings.cutOff
      ? ["A sibling reaches targets that this server does not reach: this server seems cut off."] : [];
  }

  /** What is wrong between this server and one sibling, in short sentences. */
  function siblingTroubles(peer) {
    const troubles = [];
    if (peer.trouble) troubles.push("connecting to it: " + peer.trouble);
    if (peer.overridesNotKept === "here" || peer.overridesNotKept === "both") troubles.push("its overrides cannot be saved here, and do not hold");
    if (peer.overridesNotKept === "there" || peer.overridesNotKept === "both") troubles.push("it cannot save overrides of this server, which do not hold there");
    if (peer.zonesDiffer && peer.zonesDiffer.length > 0) troubles.push("another configuration of " + peer.zonesDiffer.join(", "));
    if (Math.abs(peer.clockDifferenceMs || 0) > CLOCK_DIFFERENCE_MS) {
      troubles.push("its clock is " + Math.round(Math.abs(peer.clockDifferenceMs) / 1000) + " s " + (peer.clockDifferenceMs > 0 ? "ahead" : "behind"));
    }
    for (const one of (peer.differences || []).slice(0, 5)) {
      troubles.push(one.endpoint + " is answered with " + (one.there.join(" ") || "nothing") + " there, with " + (one.here.join(" ") || "nothing") + " here");
    }
    return troubles;
  }

  /** Every sibling: whether what it says counts, since when, and what is wrong. */
  function siblingSection(view) {
    return listOf("Siblings", peersOf(view).map((peer) => {
      const troubles = siblingTroubles(peer);
      return peer.name + " (" + peer.address + ") is " + peer.condition + ", for " + ago(peer.sinceMs) + (troubles.length > 0 ? ": " + troubles.join("; ") : "");
    }));
  }
`;
