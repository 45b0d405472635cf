/** A bar chart as SVG, without a library: panels one below the other, a bar for each figure, livezone's in colour. */

const WIDTH = 760;
const NAME_WIDTH = 110;
const BAR = { height: 20, gap: 6, width: 520 };
const TITLE_HEIGHT = 34;
const MARGIN = 16;
/** Bars of what is ours; what it is compared with is grey. */
const OURS = new Set(["livezone", "dgram"]);
const COLOURS = { ours: "#2563eb", others: "#94a3b8" };

const escaped = (text) => text.replace(/[&<>]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[letter]);

/** @param panels `{ title, bars: [{ name, value, label }] }`, each with a scale of its own that begins at 0 */
export function drawChart(panels) {
  let y = MARGIN;
  const parts = [];
  for (const { title, bars } of panels) {
    parts.push(`<text x="${MARGIN}" y="${y + 20}" class="title">${escaped(title)}</text>`);
    y += TITLE_HEIGHT;
    const largest = Math.max(...bars.map(({ value }) => value));
    for (const { name, value, label } of bars) {
      const width = Math.max(1, Math.round((value / largest) * BAR.width));
      const x = MARGIN + NAME_WIDTH;
      const middle = y + BAR.height / 2 + 5;
      parts.push(
        `<text x="${x - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`,
        `<rect x="${x}" y="${y}" width="${width}" height="${BAR.height}" fill="${OURS.has(name) ? COLOURS.ours : COLOURS.others}"/>`,
        `<text x="${x + width + 6}" y="${middle}">${escaped(label)}</text>`,
      );
      y += BAR.height + BAR.gap;
    }
    y += MARGIN;
  }
  const style = "text{font:14px sans-serif;fill:#1e293b}.title{font-weight:bold}";
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" role="img">
<title>livezone compared</title>
<style>${style}</style>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join("\n")}
</svg>
`;
}
