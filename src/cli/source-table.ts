import type { EndpointView, Status, TargetView } from "../admin/schemas.js";
import { formatAge, type Palette, plain } from "./output.js";

/** Targets that one line names. */
const MAX_NAMED = 5;

const TITLES = ["ENDPOINT", "SOURCE", "STATE", "HEARD", "PROPOSES", "CREDENTIAL", "ITS TARGETS"] as const;

type SourceView = NonNullable<EndpointView["discovery"]>["sources"][number];

/** What is wrong with where an endpoint's targets come from, a line each. */
export function sourceAlarms({ endpoint, discovery, targets }: EndpointView, nowMs: number): string[] {
  if (discovery === undefined) return [];
  const lines = discovery.sources.flatMap((source) =>
    [stateAlarm(source, nowMs), credentialAlarm(source, nowMs)].flatMap((text) =>
      text === undefined ? [] : [`! ${endpoint}: ${source.source} ${text}`],
    ),
  );
  const gone = targets.filter(({ goneSinceMs }) => goneSinceMs !== undefined).map(({ id }) => id);
  if (discovery.unconfirmed.length > 0)
    lines.push(`! ${endpoint}: proposed, but not up: ${some(discovery.unconfirmed)}`);
  if (gone.length > 0) lines.push(`! ${endpoint}: no source proposes any more: ${some(gone)}`);
  if (discovery.ignored > 0) lines.push(`! ${endpoint}: ${discovery.ignored} targets left out, more than maxTargets`);
  return lines;
}

function stateAlarm({ state, heardAtMs, problem = "not heard yet" }: SourceView, nowMs: number): string | undefined {
  if (state === "ok") return undefined;
  if (state === "empty") return "proposes nothing, which removes nothing";
  const heard = heardAtMs === undefined ? "not heard since the start" : `heard ${formatAge(nowMs - heardAtMs)} ago`;
  return `${state}, ${heard}: ${plain(problem)}`;
}

function credentialAlarm(
  { credentialEndsAtMs: endsAtMs, credentialRenewFromMs: renewFromMs }: SourceView,
  nowMs: number,
): string | undefined {
  if (endsAtMs === undefined || renewFromMs === undefined || nowMs < renewFromMs) return undefined;
  const when = nowMs < endsAtMs ? `ends in ${formatAge(endsAtMs - nowMs)}` : `ended ${formatAge(nowMs - endsAtMs)} ago`;
  return `has a credential that ${when}: renew it`;
}

/** A line for each source of targets: how fresh it is, and which targets came from it; nothing without sources. */
export function sourceTable({ zones, nowMs }: Status, palette: Palette): string[] {
  const rows = zones.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ endpoint, discovery, targets }) =>
      (discovery?.sources ?? []).map((source) => ({ source, cells: cellsOf(endpoint, source, targets, nowMs) })),
    ),
  );
  if (rows.length === 0) return [];
  const widths = TITLES.map((title, column) =>
    rows.reduce((most, { cells }) => Math.max(most, (cells[column] ?? "").length), title.length),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return [
    palette.soft(line(TITLES)),
    ...rows.map(({ source, cells }) => (source.state === "ok" ? line(cells) : palette.warn(line(cells)))),
  ];
}

function cellsOf(endpoint: string, source: SourceView, targets: readonly TargetView[], nowMs: number): string[] {
  const { source: name, state, heardAtMs, candidates, credentialEndsAtMs: endsAtMs } = source;
  const own = targets.filter(({ origins = [] }) => origins.includes(name)).map(({ id }) => id);
  return [
    endpoint,
    plain(name),
    state,
    heardAtMs === undefined ? "never" : `${formatAge(nowMs - heardAtMs)} ago`,
    String(candidates),
    endsAtMs === undefined ? "-" : endsAtMs < nowMs ? "ended" : `${formatAge(endsAtMs - nowMs)} left`,
    own.length === 0 ? "-" : some(own),
  ];
}

/** Where one target comes from; nothing for an endpoint without sources. */
export function originLines({ origins, goneSinceMs }: TargetView, nowMs: number): string[] {
  if (origins === undefined || origins.length === 0) return [];
  const gone = goneSinceMs === undefined ? "" : `, which proposes it no more since ${formatAge(nowMs - goneSinceMs)}`;
  return [plain(`from ${origins.join(", ")}${gone}`)];
}

function some(ids: readonly string[]): string {
  const named = ids.slice(0, MAX_NAMED).join(", ");
  return ids.length > MAX_NAMED ? `${named} and ${ids.length - MAX_NAMED} more` : named;
}
