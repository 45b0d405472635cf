/*
 * The status page's list of events and the stream that feeds it, as text like the rest of its script (see page-script.ts).
 */

/** Functions of the status page's script that follow events. They use `make`, `byId`, `clockTime`, `overrideText` and `refresh` of it. */
export const PAGE_EVENTS = `
  const MAX_EVENTS = 50;
  /** The newest event that was noted: the stream goes on behind it. */
  let lastEventId;

  const TEXTS = {
    health: (e) => e.endpoint + ": " + e.target + " (" + e.address + ") went " + e.to + ": " + e.reason + (e.answered ? ", answered" : ", not answered"),
    answers: (e) => e.endpoint + " answers " + (e.answers.join(", ") || "nothing") + (e.mode === "healthy" ? "" : " (" + e.mode + ")"),
    override: (e) =>
      e.endpoint + ": " + e.target + (e.override ? " is " + overrideText(e.override) : " is left to its health again" + (e.action === "cleared" && e.author ? ", by " + e.author : "")),
    suppression: (e) => e.endpoint + ": " + e.target + " (" + e.address + ")" + (e.suppressed ? " is suppressed, it flaps" : " is not suppressed any more"),
    reload: (e) => (e.ok ? "configuration reloaded" : "reload refused"),
    isolation: (e) => (e.isolated ? "the prober seems cut off" : "the prober is connected again"),
    targets: (e) => e.endpoint + ": targets" + (e.joined.length > 0 ? " joined: " + e.joined.map((one) => one.id).join(", ") : "") +
      (e.left.length > 0 ? " left: " + e.left.join(", ") : ""),
    source: (e) => e.endpoint + ": source " + e.source + (e.problem ? " cannot be read: " + e.problem : " is read again"),
    sibling: (e) => "sibling " + e.sibling + (e.condition === "fresh" ? " is heard again" : " does not count: " + e.condition),
    "sibling-overrides": (e) => "overrides of sibling " + e.sibling + (e.kept ? " are saved again" : " cannot be saved: " + (e.problem || "no reason told")),
    secondary: (e) => e.zone + ": secondary " + e.secondary + (e.trouble ? " is " + e.trouble : " follows again"),
    transfer: (e) => e.zone + ": " + e.kind.toUpperCase() + " to " + e.secondary + (e.complete ? ", serial " + e.serial : " was cut"),
    ready: () => "queries are answered",
  };

  const eventOf = (event) => {
    const text = TEXTS[event.type];
    return make("li", "", make("time", "", clockTime(event.atMs)), text ? text(event) : event.type);
  };

  function noteAll(events) {
    if (events.length === 0) return;
    lastEventId = events[events.length - 1].id;
    const list = byId("events");
    for (const none of list.querySelectorAll(".none")) none.remove();
    list.prepend(...events.slice(-MAX_EVENTS).reverse().map(eventOf));
    while (list.children.length > MAX_EVENTS) list.lastChild.remove();
  }

  /**
   * A hidden page lets the stream go: a browser keeps six connections to a server, and the seventh page would wait for one of
   * them. What happened meanwhile is asked for by the last event's number.
   */
  function leaveEvents() {
    if (source) source.close();
    source = undefined;
  }

  async function followEvents() {
    // The history comes first, and tells from which event on.
    await firstHistory;
    if (source || document.visibilityState === "hidden") return;
    source = new EventSource("/api/v1/events" + (lastEventId ? "?since=" + encodeURIComponent(lastEventId) : ""));
    source.addEventListener("open", () => {
      isConnected = true;
      refresh();
    });
    source.addEventListener("error", () => {
      isConnected = false;
      drawServer();
      // The browser tries again by itself, but not after a refusal.
      if (source && source.readyState === EventSource.CLOSED) {
        leaveEvents();
        setTimeout(followEvents, REFRESH_MS);
      }
    });
    for (const type of Object.keys(TEXTS)) {
      source.addEventListener(type, (message) => {
        noteAll([JSON.parse(message.data)]);
        refresh();
      });
    }
    source.addEventListener("reset", () => {
      // Another process answers: its history is another one, too.
      byId("events").replaceChildren();
      history = undefined;
      refreshHistory();
      refresh();
    });
  }
`;
