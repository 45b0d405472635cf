/*
 * What the status page says of the sources of an endpoint's targets, as text like the rest of its script (see page-script.ts).
 */

/** Functions of the status page's script that show sources. They use `make`, `ago`, `dateTime`, `everyTarget` and `listOf` of it. */
export const PAGE_SOURCES = `
  const plural = (count, one, many) => count + " " + (count === 1 ? one : many);

  /** The sources of one endpoint, a line each with the targets that came from it, and what no probe confirms. */
  function sourcesOf({ discovery, targets }) {
    const lines = discovery.sources.map((one) => {
      const heard = one.heardAtMs ? "heard at " + dateTime(one.heardAtMs) : "not heard yet";
      const ids = targets.filter((target) => target.origins && target.origins.includes(one.source)).map(({ id }) => id);
      return "source " + one.source + ": " + one.state + ", proposes " + plural(one.candidates, "target", "targets") + ", " + heard +
        (one.problem ? "; " + one.problem : "") +
        (ids.length > 0 ? "; from it: " + ids.slice(0, 20).join(", ") + (ids.length > 20 ? " and " + (ids.length - 20) + " more" : "") : "");
    });
    if (discovery.unconfirmed.length > 0) lines.push("proposed, but not up: " + discovery.unconfirmed.join(", "));
    if (discovery.ignored > 0) lines.push(plural(discovery.ignored, "target is", "targets are") + " left out: more than maxTargets");
    return lines.map((line) => make("p", "soft wrap", line));
  }

  /** Sources that need somebody: those that cannot be read, propose nothing, or whose credential is to be renewed. */
  function sourceSection(view) {
    const items = [];
    for (const endpoint of view.zones.flatMap((zone) => zone.endpoints)) {
      for (const one of endpoint.discovery ? endpoint.discovery.sources : []) {
        const name = one.source + " of " + endpoint.endpoint;
        const ends = one.credentialEndsAtMs;
        if (one.state === "failing") items.push(name + " cannot be read" + (one.problem ? ": " + one.problem : ""));
        else if (one.state === "empty") items.push(name + " proposes nothing: the targets stay as they were");
        if (ends && one.credentialRenewFromMs <= view.nowMs) items.push("the credential of " + name + (ends < view.nowMs ? " has ended, " : " ends ") + dateTime(ends));
      }
    }
    return listOf("Sources of targets that need a look", items.length > 50 ? [...items.slice(0, 50), "and " + (items.length - 50) + " more"] : items);
  }
`;
