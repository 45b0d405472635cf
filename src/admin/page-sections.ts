/*
 * Sections of the status page below the endpoints, as text like the rest of its script (see page-script.ts). A capability that has
 * something to show (siblings, sources of targets, secondaries) adds one function to SECTIONS.
 */

/** Functions of the status page's script that make its sections. They use `make`, `ago`, `clockTime` and `dateTime` of it. */
export const PAGE_SECTIONS = `
  const DAY_MS = 86400000;

  const everyTarget = (view) => view.zones.flatMap((zone) =>
    zone.endpoints.flatMap((endpoint) => endpoint.targets.map((target) => ({ endpoint, target }))));

  function listOf(title, items) {
    if (items.length === 0) return undefined;
    return make("section", "", make("h2", "", title), make("ul", "", ...items.map((item) => make("li", "", item))));
  }

  /** Certificates that end within 30 days, the next one first. */
  function certificateSection(view) {
    const ending = new Map();
    for (const { endpoint, target } of everyTarget(view)) {
      for (const address of target.addresses) {
        const expiry = address.last && address.last.certificateExpiryMs;
        if (expiry && expiry < view.nowMs + 30 * DAY_MS) ending.set(target.id + " (" + address.address + ") of " + endpoint.endpoint, expiry);
      }
    }
    const sorted = [...ending].sort((a, b) => a[1] - b[1]).slice(0, 20);
    return listOf("Certificates that end soon", sorted.map(([name, expiry]) => {
      const days = Math.floor((expiry - view.nowMs) / DAY_MS);
      return name + (days < 0 ? ": has ended" : ": in " + days + (days === 1 ? " day" : " days")) + ", " + dateTime(expiry);
    }));
  }

  /** Who is drained or forced, since when, and when a drained one can be stopped. */
  function overrideSection(view) {
    const items = everyTarget(view).filter(({ target }) => target.override).map(({ endpoint, target }) => {
      const safe = safeMoments.get(endpoint.endpoint + " " + target.id);
      const clock = target.override.kind !== "drained" || safe === undefined ? "" :
        safe === null ? ": is answered still" : safe > view.nowMs
          ? ": can be stopped at " + clockTime(safe) + ", in " + Math.ceil((safe - view.nowMs) / 1000) + " s"
          : ": can be stopped, since " + clockTime(safe);
      return target.id + " of " + endpoint.endpoint + " is " + overrideText(target.override) + ", for " + ago(target.override.setAtMs) + clock;
    });
    return listOf("Drained and forced", items);
  }

  /** Secondaries that do not follow first; the first 50. */
  function secondarySection(view) {
    const all = [...(view.secondaries || [])].sort((a, b) => (a.trouble ? 0 : 1) - (b.trouble ? 0 : 1));
    const at = (moment) => moment === undefined ? "not yet" : ago(moment) + " ago";
    const items = all.slice(0, 50).map((one) => {
      const state = one.trouble ? one.trouble + " for " + Math.ceil(one.lagMs / 1000) + " s" : one.serial === undefined ? "not asked yet" : "follows";
      const took = one.transferred;
      return one.address + ", " + one.zone + ": " + state + (one.serial === undefined ? "" : ", serial " + one.serial) +
        "; notified " + at(one.notifiedAtMs) +
        "; acknowledged " + (one.acknowledged ? at(one.acknowledged.atMs) + " (" + one.acknowledged.rcode + ")" : "not yet") +
        "; transferred " + (took ? at(took.atMs) + " (" + took.kind.toUpperCase() + (took.complete ? "" : ", cut") + ")" : "not yet");
    });
    return listOf("Secondaries", all.length > 50 ? [...items, "and " + (all.length - 50) + " more"] : items);
  }

  const SECTIONS = [siblingSection, sourceSection, overrideSection, certificateSection, secondarySection];
`;
