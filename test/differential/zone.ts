import { SERIAL, type ZoneSketch } from "../answers/serve.js";

/** The zone that every server answers. */
export const ZONE_NAME = "k8s.example.test";

/** Lines that livezone and the others read alike: each kind of owner, of answer and of chain that a zone can hold. */
const RECORDS = `
@            60  IN TXT   "apex" "two strings"
@            60  IN MX    10 mail
@            60  IN CAA   0 issue "ca.example.test"
mail         60  IN A     192.0.2.25
mail         60  IN AAAA  2001:db8::25
registry     300 IN A     192.0.2.20
registry     300 IN TXT   "a registry; with \\"quotes\\""
v6only       60  IN AAAA  2001:db8::60
txtonly      60  IN TXT   "only text"
odd          60  IN TYPE65400 \\# 3 010203
ptr          60  IN PTR   registry
_etcd._tcp   300 IN SRV   0 0 2379 registry
_etcd._tcp   300 IN SRV   0 0 2379 v6only
_out._tcp    300 IN SRV   0 0 2379 server.elsewhere.test.
mx-out       60  IN MX    5 mx.elsewhere.test.
mx-alias     60  IN MX    5 www
deep.ent.below 60 IN A    192.0.2.30
a\\.b         60  IN A     192.0.2.31
a.b          60  IN A     192.0.2.32
UPPER        60  IN A     192.0.2.33

www          60  IN CNAME registry
chain1       60  IN CNAME chain2
chain2       60  IN CNAME chain3
chain3       60  IN CNAME api
to-out       60  IN CNAME www.elsewhere.test.
to-nothing   60  IN CNAME nothing
to-ent       60  IN CNAME ent.below
to-apex      60  IN CNAME @
to-wild      60  IN CNAME some.wild
to-child     60  IN CNAME www.child
to-cut       60  IN CNAME child
to-parent    60  IN CNAME example.test.
loop1        60  IN CNAME loop2
loop2        60  IN CNAME loop1
self         60  IN CNAME self

*.wild       60  IN A     192.0.2.40
*.wild       60  IN TXT   "wild"
exact.wild   60  IN A     192.0.2.41
sub.deep.wild 60 IN A     192.0.2.42
*.wildcname  60  IN CNAME registry
*.wildout    60  IN CNAME x.elsewhere.test.
*.wildloop   60  IN CNAME again.wildloop
*.wildmx     60  IN MX    10 mail
*.mid.wildent 60 IN A     192.0.2.43
*.wildsrv    60  IN SRV   0 0 443 registry

child        300 IN NS    ns1.child
child        300 IN NS    ns2.child
ns1.child    300 IN A     192.0.2.53
ns2.child    300 IN A     192.0.2.54
ns2.child    300 IN AAAA  2001:db8::54
signed       300 IN NS    ns1.signed
signed       300 IN DS    12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns1.signed   300 IN A     192.0.2.55
noglue       300 IN NS    ns.elsewhere.test.
sibling      300 IN NS    ns1.child
inzone       300 IN NS    registry
under.sub    300 IN NS    ns.under.sub
ns.under.sub 300 IN A     192.0.2.56
`;

/** DS has no text form of its own in livezone: RFC 3597. */
function genericDs(text: string): string {
  return text.replace(
    /IN DS +(\d+) (\d+) (\d+) ([0-9a-f]+)/g,
    (_, tag: string, algorithm: string, digest: string, hex: string) => {
      const octets = [Number(tag) >>> 8, Number(tag) & 0xff, Number(algorithm), Number(digest)];
      const head = Buffer.from(octets).toString("hex");
      return `IN TYPE43 \\# ${4 + hex.length / 2} ${head}${hex}`;
    },
  );
}

const TARGETS = { cp1: ["192.0.2.11"], cp2: ["192.0.2.12"], cp3: ["192.0.2.13", "2001:db8::13"] } as const;

/** Addresses of an endpoint that takes more than 512 octets, and more than 1232 with AAAA: 40 targets. */
const CROWD = Object.fromEntries(
  Array.from({ length: 60 }, (_, i) => [`t${i}`, [`198.51.100.${i + 1}`, `2001:db8:1::${(i + 1).toString(16)}`]]),
);

/** For livezone: what follows health is an endpoint. */
export const SKETCH: ZoneSketch = {
  zone: ZONE_NAME,
  nameservers: { ns1: ["192.0.2.1"], ns2: ["192.0.2.2", "2001:db8::2"], "ns.elsewhere.test.": [] },
  records: genericDs(RECORDS),
  endpoints: { api: TARGETS, "api.eu": { cp1: ["192.0.2.71"] }, crowd: CROWD },
};

/** For the others: the same records, those of endpoints as static ones. */
export function masterFile(serial = SERIAL): string {
  const endpoints = Object.entries(SKETCH.endpoints ?? {}).flatMap(([endpoint, targets]) =>
    Object.entries(targets).flatMap(([target, addresses]) => [
      ...addresses.flatMap((address) => {
        const type = address.includes(":") ? "AAAA" : "A";
        return [`${endpoint} 5 IN ${type} ${address}`, `${target}.${endpoint} 5 IN ${type} ${address}`];
      }),
      `_https._tcp.${endpoint} 5 IN SRV 0 1 6443 ${target}.${endpoint}`,
    ]),
  );
  return `$ORIGIN ${ZONE_NAME}.
@ 5 IN SOA ns1 hostmaster.example.test. ${serial} 7200 900 1209600 5
@ 300 IN NS ns1
@ 300 IN NS ns2
@ 300 IN NS ns.elsewhere.test.
ns1 300 IN A 192.0.2.1
ns2 300 IN A 192.0.2.2
ns2 300 IN AAAA 2001:db8::2
${endpoints.join("\n")}
${RECORDS}`;
}

/** For livezone as a process: its files, listening on loopback. */
export function livezoneFiles(port: number): Record<string, string> {
  const { nameservers = {}, records = "", endpoints = {} } = SKETCH;
  const zone = {
    zone: ZONE_NAME,
    allowSpecialAddresses: true,
    nameservers,
    soa: { contact: "hostmaster.example.test", negativeTtl: 5 },
    records,
    endpoints: Object.fromEntries(
      Object.entries(endpoints).map(([name, targets]) => [name, { ttl: 5, targets, probe: { type: "none" } }]),
    ),
  };
  return {
    "livezone.yaml": `listen: ["127.0.0.1:${port}"]\nzones: ["zone.yaml"]\n`,
    // Any JSON is YAML.
    "zone.yaml": JSON.stringify(zone),
  };
}
