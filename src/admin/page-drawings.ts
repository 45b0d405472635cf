/*
 * What the status page draws, as text like the rest of its script (see page-script.ts): inline SVG, made element by element. A
 * drawing is one path for each kind of thing, since a page with hundreds of addresses has tens of thousands of results.
 */

/** Functions of the status page's script that make drawings. They use `make` and `dateTime` of it. */
export const PAGE_DRAWINGS = `
  const SVG = "http://www.w3.org/2000/svg";

  function svg(width, height, label, className) {
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("viewBox", "0 0 " + width + " " + height);
    drawing.setAttribute("preserveAspectRatio", "none");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", label);
    drawing.setAttribute("class", className);
    const title = document.createElementNS(SVG, "title");
    title.textContent = label;
    drawing.append(title);
    return drawing;
  }

  function path(drawing, className, d) {
    if (d === "") return;
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("class", className);
    line.setAttribute("d", d);
    drawing.append(line);
  }

  /** The last hundred results: a bar each, as high as the probe was slow; a failed one reaches from top to bottom. */
  function stripOf(strip, classes) {
    const HEIGHT = 20;
    const MAX = 100;
    const longest = Math.max(50, ...strip.durationsMs);
    let passed = "";
    let failed = "";
    let count = 0;
    const kinds = new Map();
    const first = MAX - strip.results.length;
    for (let i = 0; i < strip.results.length; i += 1) {
      const kind = classes[parseInt(strip.results[i], 36)];
      const x = first + i;
      if (kind === "ok") {
        const height = Math.max(3, Math.round((HEIGHT * strip.durationsMs[i]) / longest));
        passed += "M" + x + " " + HEIGHT + "v-" + height + "h.8v" + height + "z";
        count += 1;
      } else {
        failed += "M" + x + " 0h.9v" + HEIGHT + "h-.9z";
        kinds.set(kind, (kinds.get(kind) || 0) + 1);
      }
    }
    const sorted = [...strip.durationsMs].sort((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)];
    const trouble = [...kinds].map(([kind, times]) => kind + " " + times).join(", ");
    const label = count + " of the last " + strip.results.length + " probes passed" + (trouble ? " (" + trouble + ")" : "") +
      ", half of them within " + middle + " ms, the longest took " + sorted[sorted.length - 1] + " ms";
    const drawing = svg(MAX, HEIGHT, label, "strip");
    path(drawing, "pass", passed);
    path(drawing, "fail", failed);
    return drawing;
  }

  /** How many addresses were answered in the last day, as steps; times without enough targets have a back. */
  function answersOf(changes, nowMs) {
    const WIDTH = 480;
    const HEIGHT = 40;
    const DAY_MS = 86400000;
    const begin = Math.min(Math.max(nowMs - DAY_MS, changes[0].atMs), nowMs - 60000);
    const most = Math.max(1, ...changes.map((change) => change.addresses));
    const x = (atMs) => Math.round((WIDTH * 10 * (Math.max(begin, atMs) - begin)) / (nowMs - begin)) / 10;
    const y = (addresses) => HEIGHT - 2 - Math.round(((HEIGHT - 6) * addresses) / most);
    let line = "";
    let alarms = "";
    changes.forEach((change, index) => {
      const from = x(change.atMs);
      const to = index + 1 < changes.length ? x(changes[index + 1].atMs) : WIDTH;
      line += (index === 0 ? "M" : "L") + from + " " + y(change.addresses) + "H" + to;
      if (change.mode !== "healthy") alarms += "M" + from + " 0H" + Math.max(to, from + 1) + "V" + HEIGHT + "H" + from + "z";
    });
    const last = changes[changes.length - 1];
    const label = "Addresses answered since " + dateTime(begin) + ": " + (changes.length - 1) +
      (changes.length === 2 ? " change" : " changes") + ", now " + last.addresses + ", at most " + most;
    const drawing = svg(WIDTH, HEIGHT, label, "answers-line");
    path(drawing, "alarm-back", alarms);
    path(drawing, "line", line);
    return drawing;
  }

  /** Replies a second in the last hour, stacked by response code. */
  function ratesOf(queries) {
    const WIDTH = 360;
    const HEIGHT = 60;
    const kinds = Object.keys(queries.rates);
    const length = queries.rates.noerror.length;
    const sums = Array.from({ length }, (_, i) => kinds.reduce((sum, kind) => sum + queries.rates[kind][i], 0));
    const most = Math.max(1, ...sums);
    const below = new Array(length).fill(0);
    const last = kinds.filter((kind) => length > 0 && queries.rates[kind][length - 1] > 0)
      .map((kind) => queries.rates[kind][length - 1] + " " + kind).join(", ");
    const label = "Replies a second in the last hour: at most " + Math.round(most) + "; now " + (last || "none");
    const drawing = svg(WIDTH, HEIGHT, label, "rates");
    for (const kind of kinds) {
      let d = "";
      for (let i = 0; i < length; i += 1) {
        const height = (HEIGHT * queries.rates[kind][i]) / most;
        if (height > 0.05) {
          d += "M" + (WIDTH - length + i) + " " + (HEIGHT - below[i]).toFixed(1) + "v-" + height.toFixed(1) + "h1v" + height.toFixed(1) + "z";
          below[i] += height;
        }
      }
      path(drawing, "rate " + kind, d);
    }
    return make("div", "", drawing, make("p", "soft", label));
  }

  /** Events of the last hour on one line. */
  function eventLine(events, nowMs) {
    const WIDTH = 360;
    const HOUR_MS = 3600000;
    const recent = events.filter((event) => event.atMs > nowMs - HOUR_MS);
    const drawing = svg(WIDTH, 12, recent.length + " events in the last hour", "event-line");
    let good = "";
    let bad = "";
    for (const event of recent) {
      const mark = "M" + ((WIDTH * (event.atMs - nowMs + HOUR_MS)) / HOUR_MS).toFixed(1) + " 0v12h1.5v-12z";
      if (event.to === "down" || event.isolated || event.ok === false || (event.mode && event.mode !== "healthy")) bad += mark;
      else good += mark;
    }
    path(drawing, "base", "M0 6H" + WIDTH);
    path(drawing, "pass", good);
    path(drawing, "fail", bad);
    return drawing;
  }
`;
