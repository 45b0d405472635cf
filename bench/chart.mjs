/** A bar chart as SVG, without a library: panels one below the other, a bar for each figure, livezone's in colour. */

/** Width of the names beside the bars, unless said. */
const NAME_WIDTH = 110;
/** Room for the labels at the end of the bars, and the margins. */
const LABEL_WIDTH = 130;
const BAR = { height: 20, gap: 6, width: 520 };
const TITLE_HEIGHT = 34;
const MARGIN = 16;
/** Bars of what is ours; what it is compared with is grey. */
const OURS = new Set(["livezone", "dgram"]);
const COLOURS = { ours: "#2563eb", others: "#94a3b8" };

const escaped = (text) => text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]);

/**
 * @param panels `{ title, bars: [{ name, value, label, isOurs? }] }`, each with a scale of its own that begins at 0
 * @param {number} [nameWidth]
 */
export function drawChart(panels, nameWidth = NAME_WIDTH) {
  const chartWidth = nameWidth + BAR.width + LABEL_WIDTH;
  let y = MARGIN;
  const parts = [];
  for (const { title, bars } of panels) {
    parts.push(`<text x="${MARGIN}" y="${y + 20}" class="title">${escaped(title)}</text>`);
    y += TITLE_HEIGHT;
    const largest = Math.max(Number.MIN_VALUE, ...bars.map(({ value }) => value));
    for (const { name, value, label, isOurs = OURS.has(name) } of bars) {
      const width = Math.max(1, Math.round((value / largest) * BAR.width));
      const x = MARGIN + nameWidth;
      const middle = y + BAR.height / 2 + 5;
      parts.push(
        `<text x="${x - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`,
        `<rect x="${x}" y="${y}" width="${width}" height="${BAR.height}" fill="${isOurs ? COLOURS.ours : COLOURS.others}"/>`,
        `<text x="${x + width + 6}" y="${middle}">${escaped(label)}</text>`,
      );
      y += BAR.height + BAR.gap;
    }
    y += MARGIN;
  }
  const style = "text{font:14px sans-serif;fill:#1e293b}.title{font-weight:bold}";
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${chartWidth}" height="${y}" viewBox="0 0 ${chartWidth} ${y}" role="img">
<title>livezone compared</title>
<style>${style}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join("\n")}
</svg>
`;
}
