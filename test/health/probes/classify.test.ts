import { describe, expect, test } from "vitest";
import { classifyCertificate, classifyError } from "../../../src/health/probes/classify.js";
import { coversName } from "../../../src/health/probes/tls.js";

/** An error as Node makes it. */

const failure = (code: string, more: object = {}) => Object.assign(new Error(`node says ${code}`), { code, ...more });
const said = (error: unknown) => {
  const { class: resultClass, reason } = classifyError(error, "response");
  return `${resultClass}: ${reason}`;
};

describe("an error of the system", () => {
  test.each([
    ["ECONNREFUSED", "refused: connection refused: nothing listens on the port"],
    ["EPIPE", "reset: connection closed by the server before the response"],
    ["ECONNABORTED", "reset: connection aborted before the response"],
    ["ETIMEDOUT", "timeout: the network gave up on the connection"],
    ["EHOSTUNREACH", "unreachable: no route to the host, or no host at the address"],
    ["ENETUNREACH", "unreachable: no route to the network"],
    ["EPERM", "unreachable: forbidden by this machine's firewall or policy"],
    ["EADDRNOTAVAIL", "unreachable: this machine has no address or port left to probe from"],
    ["EMFILE", "unreachable: this process may open no more files: raise its limit"],
    ["EWHATEVER", "unreachable: the probe could not be made: node says EWHATEVER"],
  ])("%s", (code, result) => {
    expect(said(failure(code))).toBe(result);
  });

  test("ECONNRESET is a reset when the system says so, an end that came too early when Node does", () => {
    expect(said(failure("ECONNRESET", { syscall: "read" }))).toBe(
      "reset: connection reset by the server before the response",
    );
    expect(said(failure("ECONNRESET"))).toBe("reset: connection closed by the server before the response");
  });

  test("anything else that is thrown is told in its own words", () => {
    expect(said("boom")).toBe("unreachable: the probe could not be made: boom");
  });
});

describe("an error of TLS", () => {
  test.each([
    ["ERR_SSL_WRONG_VERSION_NUMBER", "tls-protocol: the server does not speak TLS on this port"],
    ["ERR_SSL_UNSUPPORTED_PROTOCOL", "tls-protocol: the server offers no TLS version of 1.2 or newer"],
    ["ERR_SSL_TLSV1_UNRECOGNIZED_NAME", "tls-name-mismatch: the server does not know the name it was asked for"],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "auth-required: the server demands a client certificate"],
    ["ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED", "auth-required: the probe's client certificate has expired"],
    ["ERR_SSL_BAD_SIGNATURE", "tls-protocol: the TLS handshake failed: bad signature"],
    ["ERR_TLS_WHATEVER", "tls-protocol: the TLS handshake failed: err tls whatever"],
  ])("%s", (code, result) => {
    expect(said(failure(code))).toBe(result);
  });

  test("may come as EPROTO with OpenSSL's own words", () => {
    expect(said(failure("EPROTO", { reason: "wrong version number" }))).toBe(
      "tls-protocol: the server does not speak TLS on this port",
    );
  });
});

test.each([
  ["HPE_HEADER_OVERFLOW", "malformed-response: the response's header is larger than 16 KiB"],
  ["HPE_INVALID_CONSTANT", "malformed-response: the response is not HTTP"],
  ["HPE_STRICT", "malformed-response: malformed response: node says HPE_STRICT"],
])("an error of HTTP: %s", (code, result) => {
  expect(said(failure(code))).toBe(result);
});

describe("a certificate", () => {
  const now = Date.UTC(2026, 0, 15);
  const dates = { valid_from: "Jan  1 00:00:00 2026 GMT", valid_to: "Feb  1 00:00:00 2026 GMT" };
  const judge = (code: string, nowMs = now, subjectaltname?: string) => {
    const certificate = { ...dates, ...(subjectaltname === undefined ? {} : { subjectaltname }) };
    const { class: resultClass, reason } = classifyCertificate({ code }, certificate, "api.k8s.example.com", nowMs);
    return `${resultClass}: ${reason}`;
  };

  test.each([
    ["after its end", "CERT_HAS_EXPIRED", Date.UTC(2026, 2, 1), "tls-expired: the certificate expired on 2026-02-01"],
    ["under an authority that ended", "CERT_HAS_EXPIRED", now, "tls-expired: its authority has expired"],
    ["before its beginning", "CERT_NOT_YET_VALID", 0, "tls-expired: the certificate is not valid before 2026-01-01"],
    ["under an authority to come", "CERT_NOT_YET_VALID", now, "tls-expired: its authority is not valid yet"],
    ["of its own", "DEPTH_ZERO_SELF_SIGNED_CERT", now, "tls-untrusted: the certificate is self-signed"],
    ["revoked", "CERT_REVOKED", now, "tls-untrusted: the certificate was revoked"],
    ["with another flaw", "CERT_UNTRUSTED", now, "tls-untrusted: the certificate is not trusted: CERT_UNTRUSTED"],
  ])("%s", (_name, code, nowMs, result) => {
    expect(judge(code, nowMs)).toBe(result);
  });

  test.each([
    ["CA signature digest algorithm too weak", /^the certificate, or one that it stands on, is signed with SHA-1/],
    ["permitted subtree violation", /^its authority may not sign for one of its names \(name constraints\)$/],
    ["something new", /^the certificate is not trusted: something new$/],
    [undefined, /^the certificate is not trusted: UNSPECIFIED$/],
  ])("for which Node has no code is told in plain words: %s", (detail, words) => {
    const fault = { code: "UNSPECIFIED", ...(detail === undefined ? {} : { detail }) };
    const found = classifyCertificate(fault, { ...dates, subjectaltname: "" }, "x", now);
    expect(found.class).toBe("tls-untrusted");
    expect(found.reason).toMatch(words);
  });

  test.each([
    ["lacks serverAuth", { ext_key_usage: ["1.3.6.1.5.5.7.3.2"] }, /^the certificate is not meant for servers/],
    ["is good, so it is an authority", { ext_key_usage: ["1.3.6.1.5.5.7.3.1"] }, /^an authority may not sign/],
    ["says nothing of it, so it is an authority", {}, /lacks basicConstraints CA:TRUE/],
  ])("whose purpose is wrong: the server's %s", (_name, usage, words) => {
    const certificate = { ...dates, subjectaltname: "", ...usage };
    expect(classifyCertificate({ code: "INVALID_PURPOSE" }, certificate, "x", now).reason).toMatch(words);
  });

  test("whose key Go does not know says what to use", () => {
    const fault = { code: "UNSUPPORTED_KEY", detail: "RSA-PSS" };
    const { class: resultClass, reason } = classifyCertificate(fault, { ...dates, subjectaltname: "" }, "x", now);
    expect(resultClass).toBe("tls-untrusted");
    expect(reason).toMatch(/key is RSA-PSS, which kubectl cannot use: use RSA up to 8192 bits/);
    expect(reason.length).toBeLessThanOrEqual(200);
  });

  test("of another name tells its names", () => {
    expect(judge("ERR_TLS_CERT_ALTNAME_INVALID", now, "DNS:kubernetes, IP Address:10.96.0.1")).toBe(
      "tls-name-mismatch: the certificate is not for api.k8s.example.com but for kubernetes, 10.96.0.1",
    );
    expect(judge("ERR_TLS_CERT_ALTNAME_INVALID")).toMatch(/ but for no name at all$/);
  });

  test("of very many names is told within a reason's length", () => {
    const names = Array.from({ length: 200 }, (_, index) => `DNS:node${index}.example.com`).join(", ");
    expect(judge("ERR_TLS_CERT_ALTNAME_INVALID", now, names).length).toBeLessThanOrEqual(200);
  });
});

describe("coversName, as every Go client judges", () => {
  test.each([
    ["DNS:api.example.com", "api.example.com", true],
    ["DNS:API.example.com", "api.example.com", true],
    ["DNS:*.example.com", "api.example.com", true],
    ["DNS:*.example.com", "a.api.example.com", false],
    ["DNS:ap*.example.com", "api.example.com", false],
    ["DNS:api.example.com.", "api.example.com", false],
    ["", "api.example.com", false],
    ["IP Address:192.0.2.1", "192.0.2.1", true],
    ["IP Address:2001:DB8:0:0:0:0:0:1", "2001:db8::1", true],
    ["DNS:192.0.2.1", "192.0.2.1", false],
  ])("%j covers %s: %j", (altNames, name, covers) => {
    expect(coversName(altNames, name)).toBe(covers);
  });
});

test("a certificate that ended today is told with the time", () => {
  const certificate = {
    valid_from: "Dec  1 00:00:00 2026 GMT",
    valid_to: "Dec  2 14:05:06 2026 GMT",
    subjectaltname: "",
  };
  const at = (now: string) =>
    classifyCertificate({ code: "CERT_HAS_EXPIRED" }, certificate, "x", Date.parse(now)).reason;
  expect(at("2026-12-02T20:00:00Z")).toBe("the certificate expired on 2026-12-02 14:05 UTC");
  expect(at("2026-12-03T20:00:00Z")).toBe("the certificate expired on 2026-12-02");
});
