import { Packet } from "dns2";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLASS, HEADER_OCTETS, TYPE } from "../../src/wire/constants.js";
import { encodeSections, type Sections } from "../../src/wire/message.js";
import { type Name, nameOctets, parseName } from "../../src/wire/name.js";
import { type EncodableRecord, QNAME } from "../../src/wire/record-writer.js";
import { type DnsMessage, parseMessage } from "../support/dns-message.js";

const NOTHING: Sections = { answer: [], authority: [], additional: [] };

function record(name: string | typeof QNAME, type: number, rdata: readonly number[] | Uint8Array): EncodableRecord {
  return { name: name === QNAME ? QNAME : parseName(name), type, ttl: 5, rdata: Uint8Array.from(rdata) };
}

/** The sections behind a question, as a whole message; `pointers` are moved when the question is a longer one. */
function assemble(question: Name, compiledFor: Name, sections: Sections): Buffer {
  const { octets, pointers } = encodeSections(compiledFor, sections);
  const body = Buffer.from(octets);
  const delta = question.length - compiledFor.length;
  for (const at of pointers) body.writeUInt16BE(body.readUInt16BE(at) + delta, at);
  const header = Buffer.alloc(HEADER_OCTETS);
  header.writeUInt16BE(0x8400, 2);
  [1, sections.answer.length, sections.authority.length, sections.additional.length].forEach((count, i) => {
    header.writeUInt16BE(count, 4 + 2 * i);
  });
  return Buffer.concat([header, nameOctets(question), Buffer.from([0, TYPE.A, 0, CLASS.IN]), body]);
}

function parse(question: string, sections: Sections, compiledFor = question): DnsMessage {
  return parseMessage(assemble(parseName(question), parseName(compiledFor), sections));
}

const SRV = [0, 0, 0, 0, 0x19, 0x2b];

describe("encodeSections", () => {
  test("compresses owners and the names of RFC 1035 types to the question and to each other", () => {
    const name = parseName("api.k8s.example.test.");
    const sections = {
      ...NOTHING,
      answer: [record(QNAME, TYPE.CNAME, nameOctets(parseName("www.k8s.example.test.")))],
      authority: [record("k8s.example.test.", TYPE.NS, nameOctets(parseName("ns1.www.k8s.example.test.")))],
    };
    const { octets, pointers, records } = encodeSections(name, sections);
    // Owner c00c; rdata: www + pointer to k8s (16); owner: pointer to k8s; rdata: ns1 + pointer to the www above.
    expect(Buffer.from(octets).toString("hex")).toBe(
      ["c00c", "0005", "0001", "00000005", "0006", "03777777", "c010"].join("") +
        ["c010", "0002", "0001", "00000005", "0006", "036e7331", "c032"].join(""),
    );
    expect(pointers).toEqual([16, 18, 34]);
    expect(records).toEqual([0, 18]);
    expect(parse("api.k8s.example.test.", sections).authorities[0]?.rdata).toBe("ns1.www.k8s.example.test.");
  });

  test("leaves SRV targets uncompressed, but lets others point to them", () => {
    const target = parseName("cp1.api.k8s.example.test.");
    const sections = {
      ...NOTHING,
      answer: [record(QNAME, TYPE.SRV, [...SRV, ...nameOctets(target)])],
      additional: [record("cp1.api.k8s.example.test.", TYPE.A, [192, 0, 2, 11])],
    };
    const message = parse("_https._tcp.api.k8s.example.test.", sections);
    const { octets } = encodeSections(parseName("_https._tcp.api.k8s.example.test."), sections);
    expect(Buffer.from(octets).includes(Buffer.from(nameOctets(target)))).toBe(true);
    expect(message.answers[0]?.rdata).toBe("0 0 6443 cp1.api.k8s.example.test.");
    expect(message.additionals[0]).toMatchObject({ owner: "cp1.api.k8s.example.test.", rdata: "192.0.2.11" });
    // Owner as a pointer: 2 + 10 + 4 octets.
    expect(octets.length).toBe(12 + 6 + target.length + 16);
  });

  test("keeps each name's own letter case, apart from the part it points to", () => {
    const message = parse("API.k8s.example.test.", {
      ...NOTHING,
      answer: [record("Www.K8S.example.test.", TYPE.PTR, nameOctets(parseName("Db.k8s.EXAMPLE.test.")))],
    });
    expect(message.answers[0]).toMatchObject({ owner: "Www.k8s.example.test.", rdata: "Db.k8s.example.test." });
  });

  test("writes no pointer past the reach of 14 bits, and none that a longer question would push past it", () => {
    const answer = Array.from({ length: 1_200 }, (_, i) =>
      record(`host${i}.far${i}.k8s.example.test.`, TYPE.NS, nameOctets(parseName(`ns${i}.far${i}.k8s.example.test.`))),
    );
    const longest = `${"a.".repeat(118)}k8s.example.test.`;
    const message = parse(longest, { ...NOTHING, answer }, "k8s.example.test.");
    expect(message.answers).toHaveLength(1_200);
    expect(message.answers[1_199]).toMatchObject({
      owner: "host1199.far1199.k8s.example.test.",
      rdata: "ns1199.far1199.k8s.example.test.",
    });
  });

  test("fits behind every longer question that ends in the same name", () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,20}$/);
    const hosts = fc.array(label, { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.array(label, { maxLength: 5 }), hosts, (prefix, names) => {
        const records = names.flatMap((host) => [
          record(`${host}.k8s.example.test.`, TYPE.MX, [
            0,
            10,
            ...nameOctets(parseName(`mx.${host}.k8s.example.test.`)),
          ]),
          record(QNAME, TYPE.TXT, [1, 0x61]),
        ]);
        const question = [...prefix, "k8s.example.test."].join(".");
        const message = parse(
          question,
          { answer: records, authority: records, additional: records },
          "k8s.example.test.",
        );
        for (const section of [message.answers, message.authorities, message.additionals]) {
          expect(section.map(({ owner, rdata }) => `${owner} ${rdata}`)).toEqual(
            names.flatMap((host) => [`${host}.k8s.example.test. 10 mx.${host}.k8s.example.test.`, `${question} "a"`]),
          );
        }
      }),
    );
  });
});

describe("the codec of dns2, and why it does not encode answers", () => {
  /** One answer through dns2's own writer. */
  const written = (answer: Record<string, unknown>): Buffer => {
    const packet = new Packet({
      header: { qr: 1 },
      questions: [{ name: "_a._tcp.example.test", type: TYPE.SRV, class: CLASS.IN }],
      answers: [answer],
    } as never);
    return packet.toBuffer();
  };

  test("it compresses SRV targets, which RFC 2782 forbids", () => {
    const name = "_a._tcp.example.test";
    const bytes = written({
      name,
      type: TYPE.SRV,
      class: CLASS.IN,
      ttl: 5,
      priority: 0,
      weight: 0,
      port: 1,
      target: "t.example.test",
    });
    const target = Buffer.from(nameOctets(parseName("t.example.test.")));
    expect(bytes.includes(target)).toBe(false);
    const ours = encodeSections(parseName(`${name}.`), {
      ...NOTHING,
      answer: [record(QNAME, TYPE.SRV, [0, 0, 0, 0, 0, 1, ...target])],
    });
    expect(Buffer.from(ours.octets).includes(target)).toBe(true);
  });

  test("it takes a dot inside a label for the end of the label", () => {
    const bytes = assemble(parseName("a\\.b.example.test."), parseName("a\\.b.example.test."), {
      ...NOTHING,
      answer: [record(QNAME, TYPE.A, [192, 0, 2, 1])],
    });
    const [question] = Packet.parse(bytes).questions;
    expect(question?.name).toBe("a.b.example.test");
    const rewritten = new Packet({ questions: [question] } as never).toBuffer();
    expect(rewritten.includes(Buffer.from(nameOctets(parseName("a\\.b.example.test."))))).toBe(false);
    expect(parseMessage(bytes).questions[0]?.name).toBe("a\\.b.example.test.");
  });

  test("what it reads of our messages is what we wrote, where it can", () => {
    const bytes = assemble(parseName("api.example.test."), parseName("api.example.test."), {
      ...NOTHING,
      answer: [record(QNAME, TYPE.A, [192, 0, 2, 1]), record(QNAME, TYPE.A, [192, 0, 2, 2])],
      authority: [record("example.test.", TYPE.NS, nameOctets(parseName("ns1.example.test.")))],
    });
    const packet = Packet.parse(bytes);
    expect(packet.answers).toMatchObject([
      { name: "api.example.test", type: TYPE.A, ttl: 5, address: "192.0.2.1" },
      { name: "api.example.test", type: TYPE.A, ttl: 5, address: "192.0.2.2" },
    ]);
    expect(packet.authorities).toMatchObject([{ name: "example.test", ns: "ns1.example.test" }]);
  });
});
