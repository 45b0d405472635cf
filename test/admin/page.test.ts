import { Script } from "node:vm";
import { expect, test } from "vitest";
import { STATUS_PAGE } from "../../src/admin/page.js";
import { PAGE_SCRIPT } from "../../src/admin/page-script.js";
import { describeWith } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { startBrowser } from "./browser.js";
import { askAt, STEADY_ZONE, startAdminServer, TOKEN, targetRoute } from "./server.js";

test("the page's script is JavaScript, and writes text only", () => {
  expect(() => new Script(PAGE_SCRIPT)).not.toThrow();
  expect(PAGE_SCRIPT).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|localStorage/);
  expect(PAGE_SCRIPT).not.toContain("</");
});

test("the page names nothing of another place, and its policy admits nothing else", () => {
  expect(STATUS_PAGE.html).not.toMatch(/(?:src|href|url\()\s*=?\s*["']?(?:https?:)?\/\//i);
  expect(STATUS_PAGE.policy).toMatch(/^default-src 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'; /);
  expect(STATUS_PAGE.policy).not.toContain("unsafe");
});

describeWith(["chromium"], "the status page in a browser", () => {
  test("shows a disabled target as such, and does not count it", { timeout: 60_000 }, async () => {
    const zone = STEADY_ZONE.replace(
      "solo:\n    targets: { cp1: 127.0.0.11 }",
      "solo:\n    targets: { cp1: 127.0.0.11, cp2: { addresses: 127.0.0.12, disabled: true } }",
    );
    const server = await startAdminServer({ zone });
    const page = await startBrowser();
    await page.open(`${server.url}/#q=solo`);
    const card = () =>
      page.evaluate<string>(
        `[...document.querySelectorAll("article")].find((one) => one.innerText.includes("solo."))?.innerText ?? ""`,
      );
    await waitUntil(async () => (await card()).includes("disabled"), { describe: "the disabled target on the page" });
    expect(await card()).toContain("1 of 1 available");
    await page.evaluate(
      `{ const f = document.getElementById("token"); f.value = "${TOKEN}"; f.dispatchEvent(new Event("input")); }`,
    );
    await waitUntil(async () => (await card()).includes("drain"), { describe: "what can be done" });
    const buttons = "[...document.querySelectorAll('article button')].map((button) => button.dataset.key)";
    expect(await page.evaluate(buttons)).toEqual([
      "solo.k8s.example.test cp1 drain",
      "solo.k8s.example.test cp1 force",
    ]);
    expect(await card()).toMatch(/cp2\s+127\.0\.0\.12\s+disabled\s+no\s+not probed/);
  });

  test("shows what is, as it changes, and acts with the token only", { timeout: 60_000 }, async () => {
    const server = await startAdminServer();
    const page = await startBrowser();
    await page.open(`${server.url}/`);
    const text = () => page.evaluate<string>("document.body.innerText");
    const buttons = () =>
      page.evaluate<string[]>("[...document.querySelectorAll('article button')].map((b) => b.textContent)");
    const shows = (what: string) =>
      waitUntil(async () => (await text()).includes(what), { describe: `"${what}" on the page` });

    await shows("api.k8s.example.test");
    await shows("→ 127.0.0.11 127.0.0.12 ::12");
    expect(await buttons()).toEqual([]);

    // Somebody else's change arrives by itself, and what an operator wrote is text, whatever it looks like.
    const body = { reason: "<img src=x onerror=alert(1)>", author: "alice" };
    await askAt(server.socket, "POST", targetRoute("cp1", "drain"), { body });
    await shows("drained, <img src=x onerror=alert(1)>, by alice");
    await shows("→ 127.0.0.12 ::12");
    expect(await page.evaluate("document.querySelectorAll('img').length")).toBe(0);

    const type = (id: string, value: string) =>
      page.evaluate(
        `{ const field = document.getElementById("${id}"); field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event("input")); }`,
      );
    await type("token", "wrong");
    await waitUntil(async () => (await buttons()).includes("undrain"));
    const press = (label: string) =>
      page.evaluate(`[...document.querySelectorAll("button")].find((b) => b.textContent === "${label}").click()`);
    await press("undrain");
    await shows("the token is not the right one");
    await type("token", TOKEN);
    await press("undrain");
    await shows("undrain cp1: done");
    await shows("→ 127.0.0.11 127.0.0.12 ::12");

    await type("filter", "solo");
    await waitUntil(async () => !(await text()).includes("api.k8s.example.test\n"));
    expect(await page.evaluate("document.querySelectorAll('article').length")).toBe(1);

    const severe = page.complaints().filter((line) => !line.includes('"level":"verbose"') && !line.includes("401"));
    expect(severe).toEqual([]);
    expect(page.requests().filter((url) => !url.startsWith(server.url) && url !== "data:,")).toEqual([]);

    await server.livezone.stop();
    await shows("No connection to the server");
  });
});
