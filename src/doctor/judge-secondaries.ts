import { formatAddress } from "../lib/listening.js";
import { isSerialNewer } from "../zone/serial.js";
import { serialIn } from "./collect-secondaries.js";
import type { SecondaryFacts } from "./facts.js";
import type { Finding } from "./finding.js";

/** Judges the secondaries of a zone: each must answer for it, and with the serial that the others have. */
export function judgeSecondaries({ secondaries, serial }: SecondaryFacts, zone: string): Finding[] {
  return secondaries.flatMap(({ server, soa }): Finding[] => {
    const subject = `${formatAddress(server)} ${zone}`;
    if (!("reply" in soa)) return [silent(subject, soa.silence)];
    const theirs = serialIn(soa);
    if (theirs === undefined) return [lame(subject, soa.reply.rcode)];
    return serial !== undefined && isSerialNewer(serial, theirs) ? [behind(subject, theirs, serial)] : [];
  });
}

function silent(subject: string, silence: string): Finding {
  return {
    id: "secondary-unreachable",
    severity: "warning",
    subject,
    evidence: `It stands under transfer.to, and does not answer: ${silence}.`,
    meaning: "Whoever asks it gets no answer, and livezone cannot tell whether it follows.",
    remedy: "Start it, let UDP port 53 through, or take it out of transfer.to.",
  };
}

function lame(subject: string, rcode: string): Finding {
  const seen = rcode === "NOERROR" ? "without authority, or without an SOA" : rcode;
  return {
    id: "secondary-lame",
    severity: "warning",
    subject,
    evidence: `It answers ${seen} when asked for the zone's SOA.`,
    meaning:
      "It does not have the zone, or its copy has expired, or it lets this machine not ask: then livezone cannot see whether it follows.",
    remedy:
      'Configure the zone there ("livezone delegation --secondary" prints how), see its log for refused transfers, and let livezone\'s address query it.',
  };
}

function behind(subject: string, theirs: number, serial: number): Finding {
  return {
    id: "secondary-behind",
    severity: "warning",
    subject,
    evidence: `It has serial ${theirs}; ${serial} is published, and it did not follow while it was watched.`,
    meaning: "It answers as things were: perhaps with an apiserver that has been withdrawn.",
    remedy:
      '"livezone status" shows whether it acknowledges NOTIFY and when it transferred last. See its log: NOTIFY must be allowed from livezone\'s address, TCP port 53 be open, and TSIG keys and clocks agree.',
  };
}
