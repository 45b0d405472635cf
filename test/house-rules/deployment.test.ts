import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { validate } from "dockerfile-utils";
import { beforeAll, describe, expect, test } from "vitest";
import { afterAllTests } from "../support/cleanup.js";
import { temporaryFolder } from "../support/temp.js";
import { root, textOf } from "./source.js";

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions of a Dockerfile, comments gone and continued lines joined. */
function instructionsOf(dockerfile: string): Instruction[] {
  return dockerfile
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("#"))
    .join("\n")
    .replace(/\\\n/g, " ")
    .split("\n")
    .map((line) => {
      const [name = "", ...rest] = line.trim().split(/\s+/);
      return { name, text: rest.join(" ") };
    });
}

/** Node.js in the image. */
const NODE = "/usr/lib/livezone/bin/node";

const dockerfile = textOf("Dockerfile");
const instructions = instructionsOf(dockerfile);
const finalFrom = instructions.findLastIndex(({ name }) => name === "FROM");
const buildStage = instructions.slice(0, finalFrom);
const finalStage = instructions.slice(finalFrom);
const texts = (stage: readonly Instruction[], name: string) =>
  stage.filter((instruction) => instruction.name === name).map(({ text }) => text);
const runs = (stage: readonly Instruction[]) => texts(stage, "RUN").flatMap((text) => text.split(/\s*&&\s*/));

const onPath = (program: string) =>
  (process.env.PATH ?? "")
    .split(":")
    .concat("/usr/sbin", "/sbin")
    .some((folder) => existsSync(join(folder, program)));

describe("Dockerfile", () => {
  test("has nothing that a linter minds", () => {
    expect(validate(dockerfile)).toEqual([]);
    expect(validate("FORM node\nEXPOSE -1\n")).not.toEqual([]);
  });

  test("is built with a line of Node.js that has long-term support, and holds no distribution", () => {
    const [build, final] = texts(instructions, "FROM").map((text) => text.split(" ")[0]);
    expect(texts(instructions, "FROM")).toHaveLength(2);
    const [, line] = /^node:(\d+)-\w+-slim$/.exec(build ?? "") ?? [];
    // Node.js gives long-term support to even lines.
    expect(Number(line) % 2).toBe(0);
    expect(Number(line)).toBeGreaterThanOrEqual(20);
    expect(final).toBe("scratch");
    expect(texts(finalStage, "RUN")).toEqual([]);
  });

  test("ends as a user that is not root, by number", () => {
    expect(texts(finalStage, "USER")).toEqual(["1000:1000"]);
  });

  test("gives node one capability and no other", () => {
    expect(runs(instructions).filter((run) => run.startsWith("setcap"))).toEqual([
      "setcap cap_net_bind_service=+ep /image/usr/lib/livezone/bin/node",
    ]);
  });

  test("opens DNS on both transports, checks its health, and starts `serve` without a shell", () => {
    expect(texts(finalStage, "EXPOSE")).toEqual(["53/udp 53/tcp 9853/tcp"]);
    expect(texts(finalStage, "HEALTHCHECK")).toHaveLength(1);
    expect(JSON.parse(texts(finalStage, "ENTRYPOINT")[0] ?? "")).toEqual([NODE, "/usr/lib/livezone/dist/main.js"]);
    expect(JSON.parse(texts(finalStage, "CMD")[0] ?? "")).toEqual(["serve", "--config", "/etc/livezone/livezone.yaml"]);
  });

  test("runs only what is known to run", () => {
    const known = [
      /^apt-get update$/,
      /^apt-get install -y --no-install-recommends [\w .-]+$/,
      /^rm -rf \/var\/lib\/apt\/lists\/\*$/,
      /^setcap /, // run below
      /^npm ci --include=dev --ignore-scripts$/, // run by scripts/ensure.mjs
      /^npm run build$/, // run by scripts/ensure.mjs
      /^node scripts\/package\/image\.mjs \/image$/, // run below
    ];
    expect(runs(instructions).filter((run) => !known.some((pattern) => pattern.test(run)))).toEqual([]);
    expect(textOf("scripts/ensure.mjs")).toMatch(/"ci",\s*"--include=dev",\s*"--ignore-scripts"/);
  });

  test("installs Debian packages that .ci/run installs too", () => {
    const ci = textOf(".ci/run");
    const packages = runs(instructions)
      .filter((run) => run.startsWith("apt-get install"))
      .flatMap((run) => run.replace(/^.*--no-install-recommends /, "").split(" "));
    expect(packages.length).toBeGreaterThan(0);
    expect(packages.filter((name) => !new RegExp(`\\b${name}\\b`).test(ci))).toEqual([]);
  });

  test("copies only what .dockerignore lets through, and the tree has", () => {
    const admitted: readonly string[] = textOf(".dockerignore").match(/(?<=^!).+$/gm) ?? [];
    const copied = texts(instructions, "COPY")
      .filter((text) => !text.startsWith("--from"))
      .flatMap((text) => text.split(" ").slice(0, -1));
    expect(copied.filter((file) => !admitted.includes(file))).toEqual([]);
    expect(copied.filter((file) => !existsSync(root + file))).toEqual([]);
  });
});

describe("the image's content, made by the Dockerfile's own step,", () => {
  const folder = temporaryFolder(afterAllTests());
  const image = join(folder, "image");

  beforeAll(() => {
    const [step = ""] = runs(buildStage).filter((run) => run.startsWith("node scripts/package/image.mjs"));
    const [, script = ""] = step.split(" ");
    execFileSync(process.execPath, [script, image], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  }, 120_000);

  test("is the program, Node.js, its libraries, and no shell", () => {
    const libraries = readdirSync(image).filter((name) => /^lib/.test(name));
    expect(readdirSync(image).filter((name) => !libraries.includes(name))).toEqual(["etc", "run", "tmp", "usr", "var"]);
    expect(readdirSync(join(image, "usr/lib/livezone"))).toEqual(
      expect.arrayContaining(["bin", "dist", "node_modules", "package.json", "zones"]),
    );
    expect(readdirSync(join(image, "usr/lib/livezone/node_modules"))).toEqual(["pino-pretty"]);
    const files = readdirSync(image, { recursive: true }).map(String);
    expect(files.filter((file) => /(?:^|\/)(?:sh|bash|apt|npm)$/.test(file))).toEqual([]);
  });

  test.skipIf(process.getuid?.() !== 0)("starts with nothing around it, as a user that is not root", () => {
    execFileSync("chmod", ["755", folder]);
    const [entry = "", main = ""] = JSON.parse(texts(finalStage, "ENTRYPOINT")[0] ?? "[]");
    const { status, stdout, stderr } = spawnSync("chroot", ["--userspec=1000:1000", image, entry, main, "--version"], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, NODE_ENV: "production" },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.trim()).toBe(JSON.parse(textOf("package.json")).version);
  });

  test("has a health check that fails when nothing answers and passes when it does", async () => {
    const [check = ""] = texts(finalStage, "HEALTHCHECK");
    const [, ...args] = JSON.parse(check.slice(check.indexOf("[")));
    let status = 200;
    const server = createServer((_, response) => response.writeHead(status).end());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const env = { ...process.env, LIVEZONE_HEALTH_URL: `http://127.0.0.1:${port}/livez` };
    const ask = async () => (await once(spawn(process.execPath, args, { env, stdio: "ignore" }), "exit"))[0];
    expect(await ask()).toBe(0);
    status = 503;
    expect(await ask()).toBe(1);
    server.closeAllConnections();
    server.close();
    await once(server, "close");
    expect(await ask()).toBe(1);
  });

  const lowPortsAreFree = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8")) <= 53;
  const canDropRoot = process.getuid?.() === 0 && onPath("setcap") && onPath("setpriv") && !lowPortsAreFree;

  test.skipIf(!canDropRoot)("lets a user that is not root bind port 53, by the file capability alone", () => {
    const bind = `const s = require("node:dgram").createSocket("udp4");
      s.on("error", ({ code }) => { console.log(code); s.close(); });
      s.bind(53, "127.53.53.53", () => { console.log("bound"); s.close(); });`;
    const node = join(folder, "node");
    cpSync(process.execPath, node);
    execFileSync("chmod", ["755", folder, node]);
    const drop = ["--reuid=1000", "--regid=1000", "--clear-groups", "--inh-caps=-all"];
    const limit = "--bounding-set=-all,+net_bind_service";
    const asUser = () => spawnSync("setpriv", [...drop, limit, node, "-e", bind], { cwd: "/", encoding: "utf8" });
    expect(asUser().stdout.trim()).toBe("EACCES");
    const [setcap = ""] = runs(instructions).filter((run) => run.startsWith("setcap"));
    execFileSync("sh", ["-c", setcap.replace("/image/usr/lib/livezone/bin/node", node)]);
    // Something else on this machine may own the port; permission was given all the same.
    expect(["bound", "EADDRINUSE"]).toContain(asUser().stdout.trim());
  });
});

describe("deploy/livezone.service", () => {
  const unit = textOf("deploy/livezone.service");

  test.each([
    ["DynamicUser", "yes"],
    ["AmbientCapabilities", "CAP_NET_BIND_SERVICE"],
    ["CapabilityBoundingSet", "CAP_NET_BIND_SERVICE"],
    ["NoNewPrivileges", "yes"],
    ["ProtectSystem", "strict"],
    ["StateDirectory", "livezone"],
    ["RuntimeDirectory", "livezone"],
  ])("says %s=%s once", (key, value) => {
    expect(unit.match(new RegExp(`^${key}=.*$`, "gm"))).toEqual([`${key}=${value}`]);
  });

  test.skipIf(!onPath("systemd-analyze"))("is one that systemd understands, and rates as well confined", () => {
    const analyze = (...args: string[]) =>
      spawnSync("systemd-analyze", [...args, "deploy/livezone.service"], { cwd: root, encoding: "utf8" });
    const verified = analyze("verify");
    // Known from systemd 254 on; one before says that it ignores them.
    const newer = /^.*Unknown key (?:name )?'(?:RestartSteps|RestartMaxDelaySec)' in section \S+, ignoring\.\n/gm;
    expect({ status: verified.status, stderr: verified.stderr.replace(newer, "") }).toEqual({ status: 0, stderr: "" });
    // Tenths of systemd's exposure level: 20 is "OK", 100 an ordinary service.
    const { status, stdout } = analyze("security", "--offline=true", "--threshold=20");
    expect({ status, last: stdout.trim().split("\n").at(-1) }).toMatchObject({ status: 0 });
  });
});
