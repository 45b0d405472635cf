import { z } from "zod";
import type { DoctorReport } from "./doctor.js";
import { FINDINGS, type FindingId, SEVERITIES, type Severity } from "./finding.js";

/** What `livezone doctor --json` prints. */
export const doctorReportSchema = z.strictObject({
  healthy: z.boolean().describe("No finding is an error."),
  findings: z.array(
    z.strictObject({
      id: z.enum(Object.keys(FINDINGS) as [FindingId, ...FindingId[]]),
      severity: z.enum(SEVERITIES),
      subject: z.string().min(1),
      evidence: z.string().min(1),
      meaning: z.string().min(1),
      remedy: z.string().min(1),
    }),
  ),
  clients: z.array(
    z.strictObject({
      endpoint: z.string(),
      orders: z.array(z.strictObject({ client: z.string(), addresses: z.array(z.string()), how: z.string() })),
    }),
  ),
  sources: z.array(
    z.strictObject({
      endpoint: z.string(),
      sources: z.array(
        z.strictObject({
          source: z.string().describe("config, or the name of a source of targets."),
          targets: z.array(z.string()),
          heardAtMs: z.number().optional().describe("When livezone on this machine heard it last."),
        }),
      ),
    }),
  ),
  looked: z.strictObject({ nameservers: z.int(), resolvers: z.int(), targets: z.int() }),
});

/** How a report is shown. */
export interface ReportStyle {
  /** Columns; lines are broken at them. Absent: not broken. */
  readonly width?: number;
  readonly colour: boolean;
}

const COLOURS: Readonly<Record<Severity, string>> = { error: "31", warning: "33", note: "36" };

const INDENT = "  ";

/** A report for people: findings, what clients do, and a last line that sums up. */
export function renderReport(report: DoctorReport, style: ReportStyle): string {
  const findings = report.findings.flatMap(({ id, severity, subject, evidence, meaning, remedy }) => [
    `${paint(severity, COLOURS[severity], style)} ${id}: ${plain(subject)}`,
    ...paragraph(evidence, style),
    ...paragraph(meaning, style),
    ...paragraph(`Remedy: ${remedy}`, style),
    "",
  ]);
  const clients = report.clients.flatMap(({ endpoint, orders }) => {
    if (orders.every(({ addresses }) => addresses.length === 0)) return [];
    const lines = orders.flatMap(({ client, addresses, how }) =>
      paragraph(`${client} dials ${addresses.join(", ")} (${how})`, style),
    );
    return [`clients on this machine, ${endpoint}`, ...lines, ""];
  });
  const sources = report.sources.flatMap((one) => [...sourceLines(one, style), ""]);
  return `${[...findings, ...sources, ...clients, summary(report, style)].join("\n")}\n`;
}

/** Targets that one line names. */
const MAX_NAMED = 10;

/** Where the targets of an endpoint come from, a line for each source. */
function sourceLines({ endpoint, sources }: DoctorReport["sources"][number], style: ReportStyle): string[] {
  const lines = sources.flatMap(({ source, targets, heardAtMs }) => {
    const more = targets.length > MAX_NAMED ? ` and ${targets.length - MAX_NAMED} more` : "";
    const named = targets.length === 0 ? "none" : `${targets.slice(0, MAX_NAMED).join(", ")}${more}`;
    const heard =
      heardAtMs === undefined ? "" : ` (livezone here heard it last at ${new Date(heardAtMs).toISOString()})`;
    return paragraph(`from ${source}: ${named}${heard}`, style);
  });
  return [`targets of ${endpoint}`, ...lines];
}

function summary({ healthy, findings, looked }: DoctorReport, style: ReportStyle): string {
  const counts = SEVERITIES.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length;
    return count === 0 ? [] : [counted(count, severity)];
  });
  const places = [
    counted(looked.nameservers, "nameserver address", "nameserver addresses"),
    counted(looked.resolvers, "resolver"),
    counted(looked.targets, "target address", "target addresses"),
  ];
  const verdict = healthy ? paint("healthy", "32", style) : paint("broken", "31", style);
  return `${verdict}: looked at ${places.join(", ")}; ${counts.length === 0 ? "nothing found" : counts.join(", ")}`;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function paint(text: string, code: string, { colour }: ReportStyle): string {
  return colour ? `\u001b[${code}m${text}\u001b[0m` : text;
}

/** Certificates and answers come from elsewhere: nothing in them is to move the cursor. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, " ");
}

/** Indented lines, broken between words. */
function paragraph(words: string, { width }: ReportStyle): string[] {
  const text = plain(words);
  if (width === undefined) return [INDENT + text];
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(" ")) {
    if (line.length > INDENT.length && line.length + 1 + word.length > width) {
      lines.push(line);
      line = INDENT;
    }
    line += line.length > INDENT.length ? ` ${word}` : word;
  }
  return [...lines, line];
}
