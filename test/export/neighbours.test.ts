import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LIVEZONE_MAIN } from "../support/livezone.js";
import { freePort } from "../support/ports.js";
import { startProcess } from "../support/processes.js";
import { findProgram } from "../support/programs.js";
import { waitUntil } from "../support/wait.js";
import { ADDRESSES, answerers, ENDPOINT, startNeighbourhood } from "./apiservers.js";

const haproxy = findProgram("haproxy");
const nginx = findProgram("nginx");
const STREAM_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so";

const [first, ...others] = ADDRESSES;
const LONG = { timeoutMs: 20_000 };

/** Waits until connections to a port reach exactly these addresses. */
const reaches = (port: number, addresses: readonly string[]) =>
  waitUntil(async () => JSON.stringify(await answerers(port)) === JSON.stringify([...addresses].sort()), LONG);

test.skipIf(haproxy === undefined)(
  "HAProxy follows SRV records with server-template: a withdrawal and a return, without a reload",
  async () => {
    const { livezone, dnsPort, start, stop } = await startNeighbourhood();
    const port = await freePort("127.0.0.1");
    const config = join(livezone.folder, "haproxy.cfg");
    // As in docs/neighbours.md, with this test's ports, and without HAProxy's own checks: the DNS alone decides.
    const example = /```haproxy\n(.*?)```/s.exec(readFileSync("docs/neighbours.md", "utf8"))?.[1] ?? "";
    writeFileSync(
      config,
      example
        .replace("192.0.2.53:53", `127.0.0.1:${dnsPort}`)
        .replace(/^\s*nameserver ns2.*\n/m, "")
        .replace(":6443", `127.0.0.1:${port}`)
        .replaceAll("api.k8s.example.com", ENDPOINT)
        .replace(" check", ""),
    );
    const running = await startProcess(haproxy ?? "", ["-db", "-f", config]);
    await reaches(port, ADDRESSES);
    await stop(first);
    await reaches(port, others);
    await start(first);
    await reaches(port, ADDRESSES);
    expect(running.stderr()).not.toContain("[ALERT]");
  },
  60_000,
);

test.skipIf(nginx === undefined || !existsSync(STREAM_MODULE))(
  "nginx follows the exported upstream: reloaded at a change only, and no established connection is dropped",
  async () => {
    const { livezone, port: apiserverPort, start, stop } = await startNeighbourhood();
    const { folder } = livezone;
    const port = await freePort("127.0.0.1");
    const upstream = join(folder, "upstream.conf");
    const config = join(folder, "nginx.conf");
    writeFileSync(
      config,
      `load_module ${STREAM_MODULE};\ndaemon off;\nuser root;\npid ${folder}/nginx.pid;\nerror_log stderr notice;\nevents {}\nstream {
  include ${upstream};\n  server { listen 127.0.0.1:${port}; proxy_connect_timeout 1s; proxy_pass api_k8s_example_test; }\n}\n`,
    );
    const reload = `printf . >>${folder}/reloads; test ! -s ${folder}/nginx.pid || nginx -c ${config} -s reload`;
    const words = ["export", "nginx", ENDPOINT, "--admin", `${folder}/admin.sock`, "--output", upstream];
    await startProcess(process.execPath, [LIVEZONE_MAIN, ...words, "--watch", "--reload-command", reload], {
      readyWhen: () => existsSync(upstream),
    });
    expect(readFileSync(upstream, "utf8")).toContain(`server ${first}:${apiserverPort};`);
    await startProcess(nginx ?? "", ["-c", config], { readyWhen: () => existsSync(`${folder}/nginx.pid`) });
    await reaches(port, ADDRESSES);

    const established = connect(port, "127.0.0.1");
    let isClosed = false;
    established.on("close", () => {
      isClosed = true;
    });
    await once(established, "data");
    // nginx itself turns away from a server that refuses, so the file is looked at as well.
    const isExported = () => readFileSync(upstream, "utf8").includes(first);
    await stop(first);
    await waitUntil(() => !isExported(), LONG);
    await reaches(port, others);
    await start(first);
    await waitUntil(isExported, LONG);
    await reaches(port, ADDRESSES);
    expect(isClosed).toBe(false);
    established.destroy();
    // At the start, at the withdrawal, at the return.
    expect(readFileSync(`${folder}/reloads`, "utf8")).toBe("...");
  },
  60_000,
);
