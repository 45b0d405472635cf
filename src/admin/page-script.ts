/*
 * The status page's script. It is text here, since it runs in browsers only; a test runs it in one. It writes what
 * it got as text nodes, never as HTML, and keeps the token in the page's memory alone.
 */

import { PAGE_DRAWINGS } from "./page-drawings.js";
import { PAGE_EVENTS } from "./page-events.js";
import { PAGE_PLAN } from "./page-plan.js";
import { PAGE_SECTIONS } from "./page-sections.js";
import { PAGE_SIBLINGS } from "./page-siblings.js";
import { PAGE_SOURCES } from "./page-sources.js";

/** The status page's script. */
export const PAGE_SCRIPT = String.raw`"use strict";
(() => {
${PAGE_DRAWINGS}${PAGE_SIBLINGS}${PAGE_SOURCES}${PAGE_SECTIONS}${PAGE_PLAN}${PAGE_EVENTS}
  const MAX_ENDPOINTS = 200;
  const REFRESH_MS = 5000;
  const MIN_PAUSE_MS = 300;
  const HISTORY_EVERY_MS = 10000;
  const byId = (id) => document.getElementById(id);
  let status;
  let skewMs = 0;
  let isConnected = false;
  let history;
  let firstHistory;
  let isDrawn = false;
  /** The stream of events; absent while the page is hidden. */
  let source;
  /** Cards by endpoint, each with what it was drawn from: one that would be the same is kept. */
  const cards = new Map();
  /** The override that is being prepared: endpoint, target, action and what has been typed. */
  let plan;
  /** When drained targets can be stopped, by endpoint and target; null = is answered still. */
  const safeMoments = new Map();

  function make(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children);
    return element;
  }
  const badge = (text, kind) => make("span", "badge " + kind, text);

  function ago(atMs) {
    const seconds = Math.max(0, Math.round((Date.now() + skewMs - atMs) / 1000));
    if (seconds < 120) return seconds + " s";
    if (seconds < 7200) return Math.round(seconds / 60) + " min";
    if (seconds < 172800) return Math.round(seconds / 3600) + " h";
    return Math.round(seconds / 86400) + " d";
  }
  // One of each: making a formatter takes longer than a hundred uses of it.
  const clockFormat = new Intl.DateTimeFormat([], { timeStyle: "medium", hourCycle: "h23" });
  const dateFormat = new Intl.DateTimeFormat([], { dateStyle: "short", timeStyle: "medium" });
  const clockTime = (atMs) => clockFormat.format(atMs);
  const dateTime = (atMs) => dateFormat.format(atMs);

  const MODES = {
    healthy: ["healthy", "good"],
    "fail-open": ["fail-open: too few targets are up", "bad"],
    none: ["no answer", "bad"],
  };
  const HEALTH = { up: "good", down: "bad", unknown: "warn" };

  function overrideText(override) {
    const until = override.expiresAtMs ? " until " + clockTime(override.expiresAtMs) : "";
    return [override.kind + until, override.reason, override.author && "by " + override.author].filter(Boolean).join(", ");
  }

  function actionsOf(endpoint, target) {
    const actions = [];
    const kind = target.override && target.override.kind;
    // The configuration has taken a disabled target out already: there is nothing to drain or to force.
    if (target.disabled && !kind) return [];
    if (kind === "drained") actions.push(["undrain", {}]);
    else if (kind) actions.push(["unforce", {}]);
    else {
      if (target.addresses.some((address) => address.held)) actions.push(["unsuppress", {}]);
      actions.push(["drain", {}]);
      actions.push(["force", { health: target.addresses.some((address) => address.health === "up") ? "down" : "up" }]);
    }
    return actions.map(([action, body]) => {
      const button = make("button", "", body.health ? action + " " + body.health : action);
      button.type = "button";
      button.dataset.key = endpoint.endpoint + " " + target.id + " " + action;
      const isPlanned = action === "drain" || action === "force";
      if (isPlanned) button.setAttribute("aria-haspopup", "dialog");
      button.addEventListener("click", () => (isPlanned ? openPlan(endpoint, target, action, body) : act(endpoint.endpoint, target.id, action, body)));
      return button;
    });
  }

  const TITLES = ["target", "address", "health", "answered", "override", "last probe", "last 100", "since", "actions"];

  function rowsOf(endpoint, target, canAct) {
    return target.addresses.map((address, index) => {
      const row = make("tr", "");
      row.setAttribute("role", "row");
      const cell = (className, ...children) => {
        const data = make("td", className, ...children);
        data.setAttribute("role", "cell");
        data.dataset.label = TITLES[row.children.length];
        row.append(data);
      };
      const strip = history && history.strips.get(endpoint.endpoint + " " + target.id + " " + address.address);
      cell("", index === 0 ? target.id : "");
      cell("address", address.address);
      cell("", target.disabled ? make("span", "soft", "disabled") : badge(address.health, HEALTH[address.health]));
      cell("", address.answered ? "yes" : make("span", "soft", "no"));
      const said = [];
      if (index === 0 && target.override) said.push(badge(overrideText(target.override), "warn"));
      if (address.held) said.push(badge("flaps: held until " + clockTime(address.held.untilMs), "warn"));
      cell("wrap said", ...said);
      const last = address.last;
      cell("soft wrap", last ? last.reason + " (" + Math.round(last.durationMs) + " ms)" : target.disabled ? "not probed" : "no result yet");
      cell("", strip ? stripOf(strip, history.classes) : make("span", "soft", "none yet"));
      const since = make("span", "", ago(address.sinceMs));
      since.dataset.since = address.sinceMs;
      cell("soft", since);
      if (canAct) cell("", ...(index === 0 ? actionsOf(endpoint, target) : []));
      return row;
    });
  }

  function cardOf(endpoint, canAct) {
    const mode = MODES[endpoint.mode] || [endpoint.mode, "warn"];
    const link = make("a", "", endpoint.endpoint);
    link.href = "#q=" + encodeURIComponent(endpoint.endpoint);
    const head = make("div", "",
      make("h3", "", link),
      make("span", "soft", "port " + endpoint.port + ", TTL " + endpoint.ttl + " s"),
      badge(mode[0], mode[1]),
      make("span", "soft", endpoint.upTargets + " of " + endpoint.targets.filter((target) => !target.disabled).length + " available"));
    const header = make("tr", "", ...TITLES.slice(0, canAct ? 9 : 8).map((title) => {
      const cell = make("th", "", title);
      cell.scope = "col";
      cell.setAttribute("role", "columnheader");
      return cell;
    }));
    header.setAttribute("role", "row");
    const body = make("tbody", "", ...endpoint.targets.flatMap((target) => rowsOf(endpoint, target, canAct)));
    const table = make("table", "", make("thead", "", header), body);
    // A narrow screen shows rows as blocks, which takes the meaning of a table from its elements.
    table.setAttribute("role", "table");
    table.setAttribute("aria-label", "Targets of " + endpoint.endpoint);
    for (const group of [table.tHead, body]) group.setAttribute("role", "rowgroup");
    const answers = make("p", "answers", endpoint.answers.length ? "→ " + endpoint.answers.join("  ") : "→ nothing");
    const card = make("article", endpoint.mode === "healthy" ? "" : "alarming", head, table, answers);
    if (endpoint.discovery) card.append(...sourcesOf(endpoint));
    const changes = history && history.answers.get(endpoint.endpoint);
    if (changes && changes.length > 0) card.append(answersOf(changes, history.nowMs));
    return card;
  }

  /** The card of an endpoint: the one that is there, if it would be the same. */
  function keptCardOf(endpoint, canAct) {
    const strips = history ? history.versions.get(endpoint.endpoint) : "";
    const from = JSON.stringify([endpoint, canAct, strips]);
    const kept = cards.get(endpoint.endpoint);
    if (kept && kept.from === from) return kept.card;
    const card = cardOf(endpoint, canAct);
    cards.set(endpoint.endpoint, { from, card });
    return card;
  }

  function matches(endpoint, words) {
    if (words.length === 0) return true;
    const text = [endpoint.endpoint, ...endpoint.targets.flatMap((target) => [
      target.id, target.override ? target.override.kind : "",
      ...target.addresses.flatMap((address) => [address.address, address.health]),
    ])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function draw() {
    if (!status) return;
    const canAct = status.writable && byId("token").value !== "";
    const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const parts = [];
    let shown = 0;
    let left = 0;
    for (const zone of status.zones) {
      const found = zone.endpoints.filter((endpoint) => matches(endpoint, words));
      // What needs a person comes first.
      found.sort((a, b) => (a.mode === "healthy") - (b.mode === "healthy"));
      const fitting = found.slice(0, Math.max(0, MAX_ENDPOINTS - shown));
      shown += fitting.length;
      left += found.length - fitting.length;
      if (fitting.length === 0 && words.length > 0) continue;
      parts.push(make("h2", "", zone.zone + " ", make("span", "soft", "serial " + zone.serial)));
      parts.push(...fitting.map((endpoint) => keptCardOf(endpoint, canAct)));
    }
    if (left > 0) parts.push(make("p", "soft", left + " more endpoints: narrow the filter"));
    if (parts.length === 0) parts.push(make("p", "soft", "nothing matches"));
    const focused = document.activeElement && document.activeElement.dataset.key;
    byId("zones").replaceChildren(...parts);
    if (focused) {
      const same = [...byId("zones").querySelectorAll("button")].find((button) => button.dataset.key === focused);
      if (same) same.focus();
    }
    for (const since of document.querySelectorAll("[data-since]")) since.textContent = ago(Number(since.dataset.since));
    byId("sections").replaceChildren(...SECTIONS.map((section) => section(status)).filter(Boolean));
    drawPlan();
    byId("token").disabled = !status.writable;
    byId("token").placeholder = status.writable ? "read-only without" : "read-only: no admin.tokenFile";
    drawServer();
  }

  function drawServer() {
    const problems = [];
    if (!isConnected) problems.push("No connection to the server: what follows may be old.");
    if (status) {
      byId("server").textContent = "version " + status.version + ", running for " + ago(status.startedMs) +
        (status.ready ? "" : ", waiting for the first round of probes");
      if (status.isolated) problems.push("The prober seems cut off from every target: the last answers are held.");
      problems.push(...siblingProblems(status));
      if (status.clockSuspect) problems.push("No certificate is valid yet: the server's clock is suspect. Look at its date and at NTP.");
      if (!status.lastReload.ok) problems.push("The last reload was refused: the configuration before it is in force.");
      for (const zone of status.zones) {
        const bad = zone.endpoints.filter((endpoint) => endpoint.mode !== "healthy");
        if (status.ready && bad.length > 0) {
          problems.push(zone.zone + ": " + bad.length + (bad.length === 1 ? " endpoint has" : " endpoints have") + " too few targets up.");
        }
      }
    }
    document.title = (problems.length > 0 ? "(!) " : "") + "livezone";
    byId("alarm").hidden = problems.length === 0;
    byId("alarm").textContent = problems.join(" ");
  }

  async function fetchStatus() {
    const reply = await fetch("/api/v1/status", { cache: "no-store" });
    if (!reply.ok) throw new Error("status " + reply.status);
    status = await reply.json();
    // A hidden page has no stream of events: it asks now and then.
    if (!source) isConnected = true;
    skewMs = status.nowMs - Date.now();
    await fetchSafeMoments();
  }

  /** Asks for the safe moments of drained targets; there are few of them at a time. */
  async function fetchSafeMoments() {
    const drained = everyTarget(status).filter(({ target }) => target.override && target.override.kind === "drained").slice(0, 20);
    const names = new Set(drained.map(({ endpoint, target }) => endpoint.endpoint + " " + target.id));
    for (const name of safeMoments.keys()) if (!names.has(name)) safeMoments.delete(name);
    await Promise.all(drained.map(async ({ endpoint, target }) => {
      const reply = await fetch(routeOf(endpoint.endpoint, target.id), { cache: "no-store" });
      if (reply.ok) safeMoments.set(endpoint.endpoint + " " + target.id, (await reply.json()).safeAtMs || null);
    }));
  }

  /** What happened before this page was opened, and goes on to happen. */
  async function refreshHistory() {
    if (document.visibilityState === "hidden") return;
    try {
      const reply = await fetch("/api/v1/history", { cache: "no-store" });
      if (!reply.ok) return;
      const read = await reply.json();
      const versions = new Map();
      for (const strip of read.strips) versions.set(strip.endpoint, (versions.get(strip.endpoint) || "") + strip.lastMs + " ");
      if (!history) noteAll(read.events);
      history = {
        ...read, versions,
        strips: new Map(read.strips.map((strip) => [strip.endpoint + " " + strip.target + " " + strip.address, strip])),
        answers: new Map(read.answers.map((one) => [one.endpoint, one.changes])),
      };
      byId("rates").replaceChildren(ratesOf(read.queries), eventLine(read.events, read.nowMs));
      if (isDrawn) draw();
    } catch {
      // The stream of events tells that there is no connection.
    }
  }

  const routeOf = (endpoint, target) => "/api/v1/endpoints/" + encodeURIComponent(endpoint) + "/targets/" + encodeURIComponent(target);

  let busy = false;
  let again = false;
  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    again = false;
    try {
      await fetchStatus();
      // The first picture has all of it, and is drawn once.
      await firstHistory;
      draw();
      isDrawn = true;
    } catch {
      if (!source) isConnected = false;
      drawServer();
    }
    setTimeout(() => {
      busy = false;
      if (again) refresh();
    }, MIN_PAUSE_MS);
  }

  async function act(endpoint, target, action, body) {
    const verdict = byId("verdict");
    verdict.textContent = action + " " + target + " …";
    try {
      const reply = await fetch(routeOf(endpoint, target) + "/" + action, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer " + byId("token").value },
        body: JSON.stringify({ ...body, author: "status page" }),
      });
      const said = await reply.json();
      if (!reply.ok) verdict.textContent = said.error.message;
      else if (action === "drain") {
        verdict.textContent = said.safeAtMs ? target + " can be stopped from " + clockTime(said.safeAtMs) : target + " is answered still";
      } else verdict.textContent = action + " " + target + ": done";
    } catch (error) {
      verdict.textContent = String(error.message || error);
    }
    refresh();
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") return leaveEvents();
    firstHistory = refreshHistory();
    followEvents();
  });
  window.addEventListener("pagehide", leaveEvents);
  window.addEventListener("pageshow", followEvents);
  setInterval(refresh, REFRESH_MS);
  setInterval(refreshHistory, HISTORY_EVERY_MS);

  /** A filter is part of the address, so that what is seen can be sent to somebody. */
  function readAddress() {
    const found = /^#q=(.*)$/.exec(location.hash);
    if (!found) return;
    try {
      byId("filter").value = decodeURIComponent(found[1]);
    } catch {
      return;
    }
    draw();
  }
  byId("filter").addEventListener("input", () => {
    const words = byId("filter").value;
    window.history.replaceState(null, "", words ? "#q=" + encodeURIComponent(words) : location.pathname);
    draw();
  });
  window.addEventListener("hashchange", readAddress);
  byId("token").addEventListener("input", draw);
  byId("plan").addEventListener("submit", (event) => {
    if (event.submitter && event.submitter.value === "go" && plan) carryOut();
  });
  readAddress();
  firstHistory = refreshHistory();
  refresh();
  followEvents();
})();
`;
