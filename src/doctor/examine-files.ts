import type { EndpointConfig } from "../config/config.js";
import { readClientFile } from "./collect-client-files.js";
import { lookUp } from "./collect-delegation.js";
import { readManifest } from "./collect-files.js";
import type { UnreadableFile } from "./facts.js";
import type { Finding } from "./finding.js";
import type { DoctorInput, DoctorSeams } from "./input.js";
import { judgeClientFiles, namesToLookUp } from "./judge-client-files.js";
import { judgeManifests, judgeUnreadable } from "./judge-files.js";
import { mapLimited } from "./pace.js";

/** Names looked up at a time. */
const AT_ONCE = 8;

/** Reads the files that were given, looks up the names in them, and judges them. */
export async function examineFiles(
  input: DoctorInput,
  endpoints: readonly EndpointConfig[],
  seams: DoctorSeams,
): Promise<Finding[]> {
  const unreadable: UnreadableFile[] = [];
  const readable = <T extends object>(read: T | UnreadableFile): T[] => {
    if (!("problem" in read)) return [read];
    unreadable.push(read);
    return [];
  };
  const apiservers = input.manifests.map(readManifest).flatMap(readable);
  const clients = input.kubeconfigs.map(readClientFile).flatMap(readable);
  const names = namesToLookUp(clients, endpoints);
  const addresses = await mapLimited(names, AT_ONCE, (name) => addressesOf(name, input, seams));
  return [
    ...judgeManifests(apiservers, endpoints),
    ...judgeClientFiles(clients, endpoints, new Map(names.map((name, index) => [name, addresses[index]]))),
    ...judgeUnreadable(unreadable),
  ];
}

/** As this machine resolves it; if other resolvers were named, as the first of them does. Undefined if there are none. */
async function addressesOf(
  name: string,
  input: DoctorInput,
  seams: DoctorSeams,
): Promise<readonly string[] | undefined> {
  const [resolver] = input.resolvers;
  if (input.machine.isCompared || resolver === undefined) {
    const found = await seams.lookUpAsMachine(name);
    return "addresses" in found ? found.addresses : undefined;
  }
  const found = await lookUp(seams.ask, name, resolver.server);
  return found.length === 0 ? undefined : found;
}
