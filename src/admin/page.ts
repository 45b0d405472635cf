import { createHash } from "node:crypto";
import { PAGE_SCRIPT } from "./page-script.js";
import { PAGE_STYLE } from "./page-style.js";

/** A page and the Content-Security-Policy it is sent with. */
export interface Page {
  readonly html: string;
  readonly policy: string;
}

function sourceHash(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>livezone</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<header>
  <h1>livezone</h1>
  <p id="server" aria-live="polite">connecting…</p>
</header>
<p id="alarm" role="alert" hidden></p>
<div id="tools" role="region" aria-label="Filter and token">
  <label>Filter <input id="filter" type="search" placeholder="endpoint, target or address" autocomplete="off" spellcheck="false"></label>
  <label>Token <input id="token" type="password" placeholder="read-only without" autocomplete="off" spellcheck="false"></label>
  <span id="verdict" role="status"></span>
</div>
<main>
<div id="zones"></div>
<div id="sections"></div>
<section>
  <h2>Queries and events in the last hour</h2>
  <div id="rates"></div>
</section>
<section>
  <h2>Events</h2>
  <ol id="events"><li class="none">none yet</li></ol>
</section>
</main>
<dialog id="plan" aria-labelledby="plan-title">
  <form method="dialog">
    <h2 id="plan-title"></h2>
    <p id="preview"></p>
    <p><label>Reason <input id="reason" autocomplete="off" maxlength="200"></label></p>
    <p><label>Ends by itself after <input id="lasting" placeholder="30m; empty: never" autocomplete="off" spellcheck="false"></label></p>
    <p id="too-few"><label><input id="anyway" type="checkbox"> even if too few targets are left</label></p>
    <p><button value="go">Do it</button> <button value="cancel" formnovalidate>Cancel</button></p>
  </form>
</dialog>
<noscript><p>This page needs JavaScript; the same is at <a href="/api/v1/status">/api/v1/status</a> as JSON.</p></noscript>
<footer><a href="/metrics">metrics</a> <a href="/api/v1/status">status as JSON</a> <a href="/openapi.json">API</a></footer>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;

/** The status page: complete in itself; nothing else is loaded, and no other script can run. */
export const STATUS_PAGE: Page = {
  html: HTML,
  policy: [
    "default-src 'none'",
    `script-src ${sourceHash(PAGE_SCRIPT)}`,
    `style-src ${sourceHash(PAGE_STYLE)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
};
