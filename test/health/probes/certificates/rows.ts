import type { CertificateMaker, KeyKind, Made, Wanted } from "./openssl.js";

/** The name that servers are asked for. */
export const NAME = "api.k8s.example.com";

/** A server's certificates and the authorities of its clients. */
export interface Case {
  /** What the server presents, its own first; it has the first one's key. */
  readonly served: readonly Made[];
  readonly ca: readonly Made[];
  /** {@link NAME} by default. */
  readonly serverName?: string;
}

/** Reasons for which one of the three judges says otherwise. */
export const RULES = {
  "common name": { differs: "openssl", why: "openssl takes the common name where there is no alternative name" },
  "partial wildcard": { differs: "openssl", why: "openssl lets a star stand for a part of a label" },
  "Go's keys": { differs: "openssl", why: "Go knows RSA, ECDSA on P-224 to P-521, and Ed25519" },
  "authority's PSS key": {
    differs: "kubectl",
    why: "Go does not know an authority's RSA-PSS key; Node does not show it",
  },
  "one try": { differs: "openssl", why: "openssl tries one authority of a name; kubectl and livezone each of them" },
  "issuer and serial": { differs: "kubectl", why: "OpenSSL compares the issuer's serial number; Go does not" },
  "any usage": { differs: "kubectl", why: "OpenSSL does not count anyExtendedKeyUsage as serverAuth" },
} as const satisfies Record<string, { differs: "openssl" | "kubectl"; why: string }>;

export interface Row {
  readonly name: string;
  /** What livezone says; the others too, unless there is a rule. */
  readonly good: boolean;
  readonly rule?: keyof typeof RULES;
  /** Livezone's class and reason where it refuses. */
  readonly says?: string;
  make(kit: Kit): Case;
}

const CA = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
const SKID = "subjectKeyIdentifier=hash";
const AKID = "authorityKeyIdentifier=keyid";
const SERVER = ["basicConstraints=CA:FALSE", "extendedKeyUsage=serverAuth"];
const SAN = `subjectAltName=DNS:${NAME}`;

/** Makes the usual certificates in few words. */
export class Kit {
  constructor(readonly maker: CertificateMaker) {}

  root(more: Partial<Wanted> = {}): Made {
    return this.maker.make({ cn: "kubernetes", extensions: [...CA, SKID], ...more });
  }

  below(by: Made, more: Partial<Wanted> = {}): Made {
    return this.maker.make({ cn: "intermediate", by, extensions: [...CA, SKID, AKID], ...more });
  }

  leaf(by: Made, more: Partial<Wanted> = {}): Made {
    return this.maker.make({ cn: "kube-apiserver", by, extensions: [...SERVER, SAN, AKID], ...more });
  }

  /** One authority and a server's certificate of it. */
  pair(leaf: Partial<Wanted> = {}, root: Partial<Wanted> = {}): Case {
    const ca = this.root(root);
    return { served: [this.leaf(ca, leaf)], ca: [ca] };
  }
}

const good = (name: string, make: (kit: Kit) => Case, rule?: keyof typeof RULES): Row => ({
  name,
  good: true,
  make,
  ...(rule === undefined ? {} : { rule }),
});
const bad = (name: string, says: string, make: (kit: Kit) => Case, rule?: keyof typeof RULES): Row => ({
  name,
  good: false,
  says,
  make,
  ...(rule === undefined ? {} : { rule }),
});

const named = (altName: string): Partial<Wanted> => ({ extensions: [...SERVER, AKID, `subjectAltName=${altName}`] });
const withKey = (kind: KeyKind) => (kit: Kit) => kit.pair({ key: [kind, "server"] });
const withAuthorityKey = (kind: KeyKind) => (kit: Kit) => kit.pair({}, { key: [kind, "authority"] });

const KEYS: readonly Row[] = [
  good("key: ECDSA P-256", withKey("p256")),
  good("key: ECDSA P-384", withKey("p384")),
  good("key: ECDSA P-521", withKey("p521")),
  good("key: RSA 2048", withKey("rsa2048")),
  good("key: RSA 3072", withKey("rsa3072")),
  good("key: Ed25519", withKey("ed25519")),
  bad(
    "key: RSA-PSS",
    "tls-untrusted: the certificate's key is RSA-PSS, which kubectl cannot use",
    withKey("rsaPss"),
    "Go's keys",
  ),
  bad(
    "key: Ed448",
    "tls-untrusted: the certificate's key is Ed448, which kubectl cannot use",
    withKey("ed448"),
    "Go's keys",
  ),
  bad("key: secp256k1", "tls-protocol: the server refused the TLS handshake", withKey("secp256k1"), "Go's keys"),
  good("authority's key: RSA 2048", withAuthorityKey("rsa2048")),
  good("authority's key: P-521", withAuthorityKey("p521")),
  good("authority's key: Ed25519", withAuthorityKey("ed25519")),
  good("authority's key: RSA-PSS", withAuthorityKey("rsaPss"), "authority's PSS key"),
  good("signature: RSA-PSS of an RSA key", (kit) =>
    kit.pair(
      { options: ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"] },
      { key: ["rsa2048", "authority"] },
    ),
  ),
  good("signature: SHA-384", (kit) => kit.pair({ digest: "sha384" })),
  bad(
    "signature: SHA-1",
    "tls-untrusted: the certificate, or one that it stands on, is signed with SHA-1 or MD5",
    (kit) => kit.pair({ digest: "sha1" }, { key: ["rsa2048", "authority"] }),
  ),
  good("signature: SHA-1 of the root itself", (kit) => kit.pair({}, { digest: "sha1", key: ["rsa2048", "authority"] })),
];

/** A root, an intermediate and a leaf. */
function three(kit: Kit, middle: Partial<Wanted> = {}, top: Partial<Wanted> = {}) {
  const root = kit.root(top);
  const intermediate = kit.below(root, middle);
  return { root, intermediate, leaf: kit.leaf(intermediate) };
}

const INTERMEDIATES: readonly Row[] = [
  good("intermediate: served", (kit) => {
    const { root, intermediate, leaf } = three(kit);
    return { served: [leaf, intermediate], ca: [root] };
  }),
  bad(
    "intermediate: missing",
    "tls-untrusted: the certificate is signed by an authority that is not trusted",
    (kit) => {
      const { root, leaf } = three(kit);
      return { served: [leaf], ca: [root] };
    },
  ),
  good("intermediate: served with the root", (kit) => {
    const { root, intermediate, leaf } = three(kit);
    return { served: [leaf, intermediate, root], ca: [root] };
  }),
  good("intermediate: after the root", (kit) => {
    const { root, intermediate, leaf } = three(kit);
    return { served: [leaf, root, intermediate], ca: [root] };
  }),
  good("intermediate: two", (kit) => {
    const { root, intermediate } = three(kit);
    const second = kit.below(intermediate, { cn: "second" });
    return { served: [kit.leaf(second), second, intermediate], ca: [root] };
  }),
  good("intermediate: a superfluous one", (kit) => {
    const ca = kit.root();
    return { served: [kit.leaf(ca), three(kit).intermediate], ca: [ca] };
  }),
  good("intermediate: is the authority, leaf alone", (kit) => {
    const { intermediate, leaf } = three(kit);
    return { served: [leaf], ca: [intermediate] };
  }),
  good("intermediate: is the authority, and served", (kit) => {
    const { intermediate, leaf } = three(kit);
    return { served: [leaf, intermediate], ca: [intermediate] };
  }),
  bad("intermediate: another one of its name is the authority", "tls-untrusted: the certificate", (kit) => ({
    served: [three(kit).leaf],
    ca: [three(kit).intermediate],
  })),
  bad("intermediate: expired", "tls-expired: its authority has expired", (kit) => {
    const { root, intermediate, leaf } = three(kit, { validDays: [-9, -1] });
    return { served: [leaf, intermediate], ca: [root] };
  }),
  good("intermediate: expired beside a good one of the same key", (kit) => {
    const { root, intermediate, leaf } = three(kit, { key: ["p256", "kept"], validDays: [-9, -1] });
    return { served: [leaf, intermediate, kit.below(root, { key: ["p256", "kept"] })], ca: [root] };
  }),
  bad(
    "intermediate: below one that allows none",
    "tls-untrusted: the certificate's chain is longer than its authority allows",
    (kit) => {
      const { root, intermediate, leaf } = three(
        kit,
        {},
        { extensions: ["basicConstraints=critical,CA:TRUE,pathlen:0", SKID] },
      );
      return { served: [leaf, intermediate], ca: [root] };
    },
  ),
  bad("intermediate: not an authority", "tls-untrusted: ", (kit) => {
    const { root, intermediate, leaf } = three(kit, { extensions: ["basicConstraints=CA:FALSE", SKID, AKID] });
    return { served: [leaf, intermediate], ca: [root] };
  }),
];

const WITHOUT_SKID = { extensions: [...CA, "subjectKeyIdentifier=none"] };

/** Two authorities of one name, the old one without a subject key identifier, and a leaf of each. */
function rotation(kit: Kit) {
  const old = kit.root(WITHOUT_SKID);
  const renewed = kit.root();
  const ofOld = kit.leaf(old, { extensions: [...SERVER, SAN, "authorityKeyIdentifier=none"] });
  return { old, renewed, ofOld, ofNew: kit.leaf(renewed) };
}

const AUTHORITIES: readonly Row[] = [
  bad(
    "authority: of another name",
    "tls-untrusted: the certificate is signed by an authority that is not trusted",
    (kit) => ({
      served: [kit.leaf(kit.root())],
      ca: [kit.root({ cn: "another" })],
    }),
  ),
  bad("authority: another one of its name", "tls-untrusted: ", (kit) => ({
    served: [kit.leaf(kit.root())],
    ca: [kit.root()],
  })),
  bad(
    "authority: another one of its name, both without key identifier",
    "tls-untrusted: the certificate's signature does not fit",
    (kit) => ({
      served: [rotation(kit).ofOld],
      ca: [kit.root(WITHOUT_SKID)],
    }),
  ),
  good("authority: among others", (kit) => {
    const ca = kit.root();
    return { served: [kit.leaf(ca)], ca: [kit.root({ cn: "one" }), ca, kit.root({ cn: "two" })] };
  }),
  good("authority: twice", (kit) => {
    const ca = kit.root();
    return { served: [kit.leaf(ca)], ca: [ca, ca] };
  }),
  good(
    "rotation: [old, new], leaf of the new",
    (kit) => {
      const { old, renewed, ofNew } = rotation(kit);
      return { served: [ofNew], ca: [old, renewed] };
    },
    "one try",
  ),
  good("rotation: [old, new], leaf of the old", (kit) => {
    const { old, renewed, ofOld } = rotation(kit);
    return { served: [ofOld], ca: [old, renewed] };
  }),
  good(
    "rotation: [new, old], leaf of the old",
    (kit) => {
      const { old, renewed, ofOld } = rotation(kit);
      return { served: [ofOld], ca: [renewed, old] };
    },
    "one try",
  ),
  good("rotation: [new, old], leaf of the new", (kit) => {
    const { old, renewed, ofNew } = rotation(kit);
    return { served: [ofNew], ca: [renewed, old] };
  }),
  good(
    "rotation: the last of three without key identifier",
    (kit) => {
      const { old, ofOld } = rotation(kit);
      return { served: [ofOld], ca: [kit.root(WITHOUT_SKID), kit.root(WITHOUT_SKID), old] };
    },
    "one try",
  ),
  good("rotation: both with key identifier", (kit) => {
    const [old, renewed] = [kit.root(), kit.root()];
    return { served: [kit.leaf(old)], ca: [renewed, old] };
  }),
  good("reissued: same key, only the new one is trusted", (kit) => {
    const [old, renewed] = [kit.root({ key: ["p256", "same"] }), kit.root({ key: ["p256", "same"] })];
    return { served: [kit.leaf(old)], ca: [renewed] };
  }),
  good("reissued: same key, the old one has expired", (kit) => {
    const old = kit.root({ key: ["p256", "same"], validDays: [-9, -1] });
    return { served: [kit.leaf(old)], ca: [old, kit.root({ key: ["p256", "same"] })] };
  }),
  bad(
    "reissued: same key, the leaf names issuer and serial of the old",
    "tls-untrusted: ",
    (kit) => {
      const [old, renewed] = [kit.root({ key: ["p256", "same"] }), kit.root({ key: ["p256", "same"] })];
      const extensions = [...SERVER, SAN, "authorityKeyIdentifier=keyid,issuer:always"];
      return { served: [kit.leaf(old, { extensions })], ca: [renewed] };
    },
    "issuer and serial",
  ),
  bad("authority: expired", "tls-expired: its authority has expired", (kit) => kit.pair({}, { validDays: [-9, -1] })),
  bad("authority: not valid yet", "tls-expired: its authority is not valid yet", (kit) =>
    kit.pair({}, { validDays: [1, 9] }),
  ),
  good("authority: version 1", (kit) => kit.pair({ extensions: [...SERVER, SAN] }, { extensions: [] })),
  bad("authority: without basicConstraints", "tls-untrusted: an authority may not sign", (kit) =>
    kit.pair({}, { extensions: [SKID] }),
  ),
  bad("authority: marked as none", "tls-untrusted: ", (kit) =>
    kit.pair({}, { extensions: ["basicConstraints=CA:FALSE", SKID] }),
  ),
  bad(
    "authority: key usage without keyCertSign",
    "tls-untrusted: an authority's key usage does not include keyCertSign",
    (kit) =>
      kit.pair({}, { extensions: ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,digitalSignature", SKID] }),
  ),
  good("self-signed: pinned", (kit) => {
    const own = kit.maker.make({ cn: NAME, extensions: [SAN] });
    return { served: [own], ca: [own] };
  }),
  good("self-signed: pinned, not an authority", (kit) => {
    const own = kit.maker.make({ cn: NAME, extensions: [...SERVER, SAN, SKID] });
    return { served: [own], ca: [own] };
  }),
  bad("self-signed: not pinned", "tls-untrusted: the certificate is self-signed", (kit) => ({
    served: [kit.maker.make({ cn: NAME, extensions: [SAN] })],
    ca: [kit.root()],
  })),
  good("leaf of an authority: pinned itself", (kit) => {
    const leaf = kit.leaf(kit.root());
    return { served: [leaf], ca: [leaf] };
  }),
];

const CONSTRAINTS: readonly Row[] = [
  ["permitted, fits", "permitted;DNS:k8s.example.com", true],
  ["permitted, does not fit", "permitted;DNS:example.net", false],
  ["excluded", "excluded;DNS:example.com", false],
  ["of addresses alone", "permitted;IP:192.0.2.0/255.255.255.0", true],
].map(([name, constraint, isGood]) => {
  const make = (kit: Kit) => kit.pair({}, { extensions: [...CA, SKID, `nameConstraints=critical,${constraint}`] });
  return isGood
    ? good(`name constraints: ${name}`, make)
    : bad(`name constraints: ${name}`, "tls-untrusted: its authority may not sign for one of its names", make);
});

const USAGE: readonly Row[] = [
  good("usage: none is given", (kit) => kit.pair({ extensions: [SAN, AKID] })),
  good("usage: server and client", (kit) =>
    kit.pair({ extensions: [SAN, AKID, "extendedKeyUsage=serverAuth,clientAuth"] }),
  ),
  bad("usage: client alone", "tls-untrusted: the certificate is not meant for servers", (kit) =>
    kit.pair({ extensions: [SAN, AKID, "extendedKeyUsage=clientAuth"] }),
  ),
  bad(
    "usage: any",
    "tls-untrusted: the certificate is not meant for servers",
    (kit) => kit.pair({ extensions: [SAN, AKID, "extendedKeyUsage=anyExtendedKeyUsage"] }),
    "any usage",
  ),
  bad("an unknown critical extension", "tls-untrusted: it, or an authority, has a critical extension", (kit) =>
    kit.pair({ extensions: [SAN, AKID, "1.2.3.4.5=critical,DER:0500"] }),
  ),
];

const NAMES: readonly Row[] = [
  bad("name: expired", "tls-expired: the certificate expired on", (kit) => kit.pair({ validDays: [-9, -1] })),
  bad("name: not valid yet", "tls-expired: the certificate is not valid before", (kit) =>
    kit.pair({ validDays: [1, 9] }),
  ),
  bad(
    "name: common name alone",
    "tls-name-mismatch: ",
    (kit) => kit.pair({ cn: NAME, extensions: [...SERVER, AKID] }),
    "common name",
  ),
  good("name: empty subject", (kit) =>
    kit.pair({ cn: "", extensions: [...SERVER, AKID, `subjectAltName=critical,DNS:${NAME}`] }),
  ),
  good("name: in capitals", (kit) => kit.pair(named(`DNS:${NAME.toUpperCase()}`))),
  good("name: wildcard", (kit) => kit.pair(named("DNS:*.k8s.example.com"))),
  bad("name: wildcard one label too high", "tls-name-mismatch: ", (kit) => kit.pair(named("DNS:*.example.com"))),
  bad(
    "name: partial wildcard",
    "tls-name-mismatch: ",
    (kit) => kit.pair(named("DNS:ap*.k8s.example.com")),
    "partial wildcard",
  ),
  bad("name: trailing dot", "tls-name-mismatch: ", (kit) => kit.pair(named(`DNS:${NAME}.`))),
  bad("name: another", "tls-name-mismatch: ", (kit) => kit.pair(named("DNS:kubernetes.default.svc"))),
  bad("name: none", "tls-name-mismatch: ", (kit) => kit.pair({ extensions: [...SERVER, AKID] })),
  good("name: 200 of them", (kit) => kit.pair({ extensions: [...SERVER, AKID, "subjectAltName=@names"] })),
  bad("name: address alone", "tls-name-mismatch: ", (kit) => kit.pair(named("IP:192.0.2.10"))),
  good("address: IPv4", (kit) => ({ ...kit.pair(named("IP:192.0.2.10")), serverName: "192.0.2.10" })),
  good("address: IPv6", (kit) => ({ ...kit.pair(named("IP:2001:db8::10")), serverName: "2001:db8::10" })),
  bad("address: another", "tls-name-mismatch: ", (kit) => ({
    ...kit.pair(named("IP:192.0.2.11")),
    serverName: "192.0.2.10",
  })),
  bad("address: written as a DNS name", "tls-name-mismatch: ", (kit) => ({
    ...kit.pair(named("DNS:192.0.2.10")),
    serverName: "192.0.2.10",
  })),
];

/** Certificates and chains, with what is to be said of them. */
export const ROWS: readonly Row[] = [...KEYS, ...INTERMEDIATES, ...AUTHORITIES, ...CONSTRAINTS, ...USAGE, ...NAMES];
