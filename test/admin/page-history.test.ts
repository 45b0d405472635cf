import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { historySchema } from "../../src/admin/history-schema.js";
import { afterThisTest } from "../support/cleanup.js";
import { freePort } from "../support/ports.js";
import { describeWith } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { type BrowserPage, startBrowser } from "./browser.js";
import { askAt, startAdminServer, TOKEN, targetRoute } from "./server.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds wrong, as `rule: element`. */
async function violations(page: BrowserPage): Promise<string[]> {
  await page.evaluate(`${AXE}; 0`);
  return page.evaluate<string[]>(
    `axe.run(document).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200))))`,
  );
}

/** A zone whose targets are one listener that can be closed. */
async function livingZone() {
  const port = await freePort("127.0.0.1", "127.0.0.2");
  const listen = async (address: string) => {
    const server = createServer((socket) => void socket.on("error", () => {}));
    server.listen(port, address);
    await once(server, "listening");
    afterThisTest(() => server.close());
    return server;
  };
  const servers = [await listen("127.0.0.1"), await listen("127.0.0.2")];
  const zone = `zone: k8s.example.test\nallowSpecialAddresses: true\nnameservers: { ns1: 127.0.0.1 }\nendpoints:
  api:
    port: ${port}
    ttl: 1
    targets: { cp1: 127.0.0.1, cp2: 127.0.0.2 }
    probe: { type: tcp, interval: 500ms, timeout: 400ms, recheck: 200ms }\n`;
  return { zone, servers };
}

test("the history has results, answers, rates and events from before anybody looked", async () => {
  const { zone, servers } = await livingZone();
  const server = await startAdminServer({ zone });
  servers[0]?.close();
  await server.livezone.waitForLog("target withdrawn");
  const { json } = await askAt(server.http, "GET", "/api/v1/history");
  const history = historySchema.parse(json);
  expect(history.strips.map(({ target }) => target)).toEqual(["cp1", "cp2"]);
  const [first] = history.strips;
  expect(first?.results).toHaveLength(first?.durationsMs.length ?? 0);
  const classes = [...(first?.results ?? "")].map((one) => history.classes[Number.parseInt(one, 36)]);
  expect([...new Set(classes)]).toEqual(["ok", "refused"]);
  expect(history.answers[0]?.changes.slice(-2).map(({ addresses }) => addresses)).toEqual([2, 1]);
  expect(history.events.map(({ type }) => type)).toEqual(expect.arrayContaining(["ready", "answers", "health"]));
});

describeWith(["chromium"], "the status page's history in a browser", () => {
  test("draws what was, follows a kill, and goes on after a restart of the server", { timeout: 60_000 }, async () => {
    const { zone, servers } = await livingZone();
    const server = await startAdminServer({ zone });
    const page = await startBrowser();
    await page.open(`${server.url}/`);
    const text = () => page.evaluate<string>("document.body.innerText");
    const drawings = () =>
      page.evaluate<string[]>(`[...document.querySelectorAll("svg")].map((s) => s.getAttribute("aria-label"))`);
    await waitUntil(async () => (await drawings()).length >= 5);
    expect((await drawings()).join("\n")).toMatch(/\d+ of the last \d+ probes passed/);
    // From before the page was opened.
    await waitUntil(async () => (await text()).includes("queries are answered"));

    servers[0]?.close();
    await waitUntil(async () => (await text()).includes("1 of 2 available"));
    servers[1]?.close();
    await waitUntil(async () => /fail-open/.test(await text()));
    await waitUntil(async () => (await page.evaluate("document.title")) === "(!) livezone");
    await waitUntil(async () => (await page.evaluate("document.querySelectorAll('article.alarming').length")) === 1);
    const severe = page.complaints().filter((line) => !line.includes('"level":"verbose"'));
    expect(severe).toEqual([]);

    await server.livezone.stop();
    await waitUntil(async () => (await text()).includes("No connection to the server"));
    await startAdminServer({ httpPort: server.http.port });
    await waitUntil(async () => (await text()).includes("solo.k8s.example.test"), { timeoutMs: 20_000 });
    await waitUntil(async () => !(await text()).includes("No connection to the server"));
    // The events are those of the new process: each once.
    const events = () => page.evaluate<string>("document.getElementById('events').innerText");
    await waitUntil(async () => (await events()).split("queries are answered").length === 2);
    expect(await events()).not.toContain("went down");
  });

  test("has no violation that axe-core knows: wide and narrow, light and dark, with the dialog", {
    timeout: 90_000,
  }, async () => {
    const { zone } = await livingZone();
    const server = await startAdminServer({ zone });
    const page = await startBrowser();
    await page.open(`${server.url}/`);
    await waitUntil(async () => (await page.evaluate("document.querySelectorAll('svg.strip').length")) === 2);
    await page.evaluate(
      `{ const f = document.getElementById("token"); f.value = "${TOKEN}"; f.dispatchEvent(new Event("input")); }`,
    );
    for (const width of [1200, 360]) {
      await page.setSize(width, 800);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
      for (const isDark of [false, true]) {
        await page.setDark(isDark);
        expect(await violations(page)).toEqual([]);
      }
    }
    await page.evaluate(`[...document.querySelectorAll("button")].find((b) => b.textContent === "drain").click()`);
    expect(await violations(page)).toEqual([]);
  });

  test("a drain is prepared by keyboard: reason, preview, confirmation, and its clock", {
    timeout: 60_000,
  }, async () => {
    const server = await startAdminServer();
    const page = await startBrowser();
    await page.open(`${server.url}/#q=api.k8s.example.test`);
    const text = () => page.evaluate<string>("document.body.innerText");
    await waitUntil(async () => (await page.evaluate("document.querySelectorAll('article').length")) === 1);
    await page.evaluate(
      `{ const f = document.getElementById("token"); f.value = "${TOKEN}"; f.dispatchEvent(new Event("input")); }`,
    );
    await page.evaluate(`document.querySelector('button[data-key$="cp1 drain"]').focus()`);
    await page.press("Enter");
    await waitUntil(async () => (await text()).includes("Answered then: 127.0.0.12 ::12"));
    await page.press("Escape");
    expect(await text()).not.toContain("Answered then");
    await page.evaluate(`document.querySelector('button[data-key$="cp1 drain"]').click()`);
    await page.evaluate(`document.getElementById("reason").value = "kernel"`);
    await page.evaluate(`document.getElementById("reason").focus()`);
    await page.press("Enter");
    await waitUntil(async () =>
      (await text()).includes("cp1 of api.k8s.example.test is drained, kernel, by status page"),
    );
    await waitUntil(async () => /can be stopped/.test(await text()));
    const { json } = await askAt(server.http, "GET", targetRoute("cp1"));
    expect(json).toMatchObject({ target: { override: { kind: "drained", reason: "kernel" } } });
  });
});
