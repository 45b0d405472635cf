/** What the lab needs from the system, and what it builds itself. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createAuthority } from "../dist/demo/certificates.js";
import { mayMakeNamespaces } from "./namespaces.mjs";
import { ADDRESSES, NAME, TARGETS, VIRTUAL } from "./topology.mjs";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
const ALWAYS = ["ip", "nft", "nsenter", "unshare", "curl", "go", "named", "unbound"];
const GO_LIBRARIES = "/usr/share/gocode";

const isThere = (program) => FOLDERS.some((folder) => existsSync(path.join(folder, program)));

/** Why the lab cannot run here, one sentence each; empty when it can. @param {string[]} programs further ones that are needed */
export function obstacles(programs) {
  const found = [];
  if (process.platform !== "linux") return ["it needs Linux"];
  if (process.getuid() !== 0) found.push("it needs root");
  const missing = [...new Set([...ALWAYS, ...programs])].filter((program) => !isThere(program));
  if (missing.length > 0) found.push(`not installed: ${missing.join(", ")}`);
  if (!existsSync(`${GO_LIBRARIES}/src/golang.org/x/net`)) found.push("not installed: golang-golang-x-net-dev");
  if (found.length === 0 && !mayMakeNamespaces()) found.push("network namespaces cannot be made here");
  return found;
}

/** Compiles the Go programs where they are missing or older than their source. Returns the path of each. */
export function buildPrograms(folder) {
  mkdirSync(folder, { recursive: true });
  const env = {
    ...process.env,
    GO111MODULE: "off",
    GOPATH: GO_LIBRARIES,
    CGO_ENABLED: "0",
    GOCACHE: path.join(folder, "go-cache"),
  };
  return Object.fromEntries(
    ["apiserver", "client", "proxy"].map((name) => {
      const source = path.join(import.meta.dirname, "go", `${name}.go`);
      const program = path.join(folder, name);
      if (!existsSync(program) || statSync(program).mtimeMs < statSync(source).mtimeMs) {
        const { status, stderr } = spawnSync("go", ["build", "-o", program, source], { env, encoding: "utf8" });
        if (status !== 0) throw new Error(`go build ${source}: ${stderr}`);
      }
      return [name, program];
    }),
  );
}

/** Writes an authority and the apiservers' certificates into a folder: `ca.crt`, `good.*`, `expired.*`. */
export async function writeCertificates(folder) {
  mkdirSync(folder, { recursive: true });
  const authority = await createAuthority();
  const names = [NAME, "localhost", "127.0.0.1", VIRTUAL, ...TARGETS.map((id) => ADDRESSES[id])];
  writeFileSync(path.join(folder, "ca.crt"), authority.caPem);
  for (const [name, notAfter] of [
    ["good", undefined],
    ["expired", new Date(Date.now() - 60_000)],
  ]) {
    const issued = await authority.issue({ names, ...(notAfter === undefined ? {} : { notAfter }) });
    writeFileSync(path.join(folder, `${name}.crt`), issued.certPem);
    writeFileSync(path.join(folder, `${name}.key`), issued.keyPem, { mode: 0o600 });
  }
  return folder;
}
