import { KeyObject, webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** A root that nobody is given, the authority below it, and a server's certificate of that authority. */
export interface Chain {
  readonly intermediatePem: string;
  readonly leafPem: string;
  readonly keyPem: string;
}

/** Makes a chain of three for a DNS name, as an organisation's own certificate authority does. */
export async function chainOfThree(name: string): Promise<Chain> {
  const makeKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const [rootKeys, middleKeys, leafKeys] = await Promise.all([makeKeys(), makeKeys(), makeKeys()]);
  const authority = [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
  ];
  const root = await x509.X509CertificateGenerator.createSelfSigned(
    { name: [{ CN: ["root"] }], keys: rootKeys, signingAlgorithm: ALGORITHM, extensions: authority },
    webcrypto,
  );
  const intermediate = await x509.X509CertificateGenerator.create(
    {
      subject: [{ CN: ["intermediate"] }],
      issuer: root.subject,
      publicKey: middleKeys.publicKey,
      signingKey: rootKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: authority,
    },
    webcrypto,
  );
  const leaf = await x509.X509CertificateGenerator.create(
    {
      subject: [{ CN: [name] }],
      issuer: intermediate.subject,
      publicKey: leafKeys.publicKey,
      signingKey: middleKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: name }])],
    },
    webcrypto,
  );
  return {
    intermediatePem: intermediate.toString("pem"),
    leafPem: leaf.toString("pem"),
    keyPem: KeyObject.from(leafKeys.privateKey).export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
