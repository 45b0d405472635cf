/*
 * What the status page says of the sources of an endpoint's targets, as text like the rest of its script (see page-script.ts).
 */

/** Functions of the status page's script that show sources. They use `make`, `ago`, `dateTime`, `everyTarget` and `listOf` of it. */
export const PAGE_SOURCES = `
  const plural = (count, one, many) => count + " " + (count === 1 ? one : many);

  /** The sources of one endpoint, a line each, and what no probe confirms. */
  function sourcesOf(discovery) {
    const lines = discovery.sources.map((one) => {
      const heard = one.heardAtMs ? "heard at " + dateTime(one.heardAtMs) : "not heard yet";
      return "source " + one.source + ": " + one.state + ", proposes " + plural(one.candidates, "target", "targets") + ", " + heard +
        (one.problem ? "; " + one.problem : "");
    });
    if (discovery.unconfirmed.length > 0) lines.push("proposed, but not up: " + discovery.unconfirmed.join(", "));
    if (discovery.ignored > 0) lines.push(plural(discovery.ignored, "target is", "targets are") + " left out: more than maxTargets");
    return lines.map((line) => make("p", "soft wrap", line));
  }

  /** Sources that need somebody: those that cannot be read, propose nothing, or whose credential ends within 30 days. */
  function sourceSection(view) {
    const items = [];
    for (const endpoint of view.zones.flatMap((zone) => zone.endpoints)) {
      for (const one of endpoint.discovery ? endpoint.discovery.sources : []) {
        const name = one.source + " of " + endpoint.endpoint;
        const ends = one.credentialEndsAtMs;
        if (one.state === "failing") items.push(name + " cannot be read" + (one.problem ? ": " + one.problem : ""));
        else if (one.state === "empty") items.push(name + " proposes nothing: the targets stay as they were");
        if (ends && ends < view.nowMs + 30 * DAY_MS) items.push("the credential of " + name + (ends < view.nowMs ? " has ended, " : " ends ") + dateTime(ends));
      }
    }
    return listOf("Sources of targets that need a look", items.length > 50 ? [...items.slice(0, 50), "and " + (items.length - 50) + " more"] : items);
  }
`;
