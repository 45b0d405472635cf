import { domainToASCII } from "node:url";
import type { Verdict } from "./parse-result.js";

/** Longest name in presentation form without the trailing dot: 255 octets on the wire (RFC 1035 §3.1) less two. */
export const MAX_NAME_CHARACTERS = 253;

/** Longest label, RFC 1035 §3.1. */
const MAX_LABEL_CHARACTERS = 63;

/** What may stand in a label: `hostname` as in RFC 1123 §2.1, `any` with underscores too (RFC 8552). */
export type LabelKind = "hostname" | "any";

/**
 * A domain name in lower case without a trailing dot; letters, digits, hyphens (underscores if `any`), labels of 1
 * to 63 characters, at most 253 in all. A trailing dot is accepted. Wildcards and the root are refused.
 */
export function parseName(value: unknown, kind: LabelKind): Verdict<string> {
  const fault = {
    why: "that is not a domain name",
    remedy: 'Write a name such as "k8s.example.com".',
    code: "CONFIG_NAME",
  };
  if (typeof value !== "string" || value === "") return fault;
  if (value === ".") return { ...fault, why: "the root cannot be served here" };
  const name = value.replace(/\.$/, "").toLowerCase();
  const characters = nameFault(value, name, kind);
  if (characters !== undefined) return { ...fault, ...characters };
  for (const label of name.split(".")) {
    if (label === "") return { ...fault, why: "a label is empty" };
    if (label.length > MAX_LABEL_CHARACTERS) {
      return {
        ...fault,
        why: `a label is ${label.length} characters long`,
        remedy: `Use labels of at most ${MAX_LABEL_CHARACTERS} characters.`,
      };
    }
    if (label.startsWith("-") || label.endsWith("-")) {
      return { ...fault, why: "a label starts or ends with a hyphen", remedy: "Move or remove the hyphen." };
    }
  }
  if (name.length > MAX_NAME_CHARACTERS) {
    return {
      ...fault,
      why: `it is ${name.length} characters long`,
      remedy: `Use at most ${MAX_NAME_CHARACTERS} characters.`,
    };
  }
  return { value: name };
}

/** What is wrong with the characters of a name, if anything is. */
function nameFault(value: string, name: string, kind: LabelKind): { why: string; remedy?: string } | undefined {
  if (name.includes("*")) {
    return { why: "wildcards are not supported", remedy: "Write out each name." };
  }
  const allowed = kind === "any" ? /^[a-z0-9._-]*$/ : /^[a-z0-9.-]*$/;
  if (allowed.test(name)) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII as a whole
  if (/[^\x00-\x7f]/.test(name)) {
    const ascii = domainToASCII(name);
    return {
      why: "DNS names are ASCII",
      remedy: ascii === "" ? "Write its ASCII (punycode) form." : `Write ${JSON.stringify(ascii)}.`,
    };
  }
  if (name.includes("_")) {
    return { why: "a host name has no underscores", remedy: `Write ${JSON.stringify(value.replaceAll("_", "-"))}.` };
  }
  return { why: "it contains a character that names do not have", remedy: "Use letters, digits, hyphens and dots." };
}

/**
 * The mailbox of an SOA record (RFC 1035 §3.3.13) as a name in presentation form without a trailing dot.
 *
 * `host.master@example.com` is turned into `host\.master.example.com` (RFC 1035 §8); a name is taken as it stands.
 */
export function parseContact(value: unknown): Verdict<string> {
  const fault = {
    why: "that is not a mailbox",
    remedy: 'Write it as "hostmaster.example.com" or "hostmaster@example.com".',
    code: "CONFIG_CONTACT",
  };
  if (typeof value !== "string") return fault;
  const mail = /^([A-Za-z0-9._+-]+)@([^@]+)$/.exec(value);
  if (mail?.[1] !== undefined) {
    const domain = parseName(mail[2], "hostname");
    if (!("value" in domain) || mail[1].length > MAX_LABEL_CHARACTERS) return fault;
    const contact = `${mail[1].toLowerCase().replaceAll(".", "\\.")}.${domain.value}`;
    return contact.length > MAX_NAME_CHARACTERS ? fault : { value: contact };
  }
  // The first label may hold escaped dots and more than a host name may.
  const name = /^((?:[A-Za-z0-9_+-]|\\\.)+)\.(.+)$/.exec(value);
  if (name?.[1] === undefined || name[1].replaceAll("\\.", ".").length > MAX_LABEL_CHARACTERS) return fault;
  const domain = parseName(name[2], "hostname");
  if (!("value" in domain)) return fault;
  const contact = `${name[1].toLowerCase()}.${domain.value}`;
  return contact.length > MAX_NAME_CHARACTERS ? fault : { value: contact };
}
