import { type Command, Option } from "commander";
import type { EndpointConfig, ProbeConfig } from "../config/config.js";
import { singleProbes } from "../config/probe-list.js";
import { RECOMMENDED_DELAY_SECONDS, requiredShutdownDelaySeconds, seesShutdown } from "../doctor/judge-files.js";
import { UserError } from "../lib/errors.js";
import { prepare } from "../server/load-zones.js";
import { CONFIG_OPTION, findConfigFile } from "./config-file.js";
import { type CommandContext, EXIT } from "./exit.js";
import { discoverySettings } from "./kubeadm-discovery.js";
import { endQuietlyWithoutReader, writeJson } from "./output.js";
import { refusingProblems } from "./problems.js";

/** Seconds that the kubelet gives a Pod to end, unless the Pod says otherwise. */
const DEFAULT_GRACE_SECONDS = 30;

/** Versions of kubeadm's configuration, newest first, with what prints an argument of kube-apiserver in each. */
const EXTRA_ARGUMENT: Readonly<Record<string, (name: string, value: string) => string>> = {
  v1beta4: (name, value) => `    - name: ${name}\n      value: ${value}\n`,
  // A map: an argument cannot be given twice.
  v1beta3: (name, value) => `    ${name}: ${value}\n`,
};

/** Of kube-apiserver's --goaway-chance: what its documentation recommends to begin with. */
const GOAWAY_CHANCE = '"0.001"';

/** What a cluster has to be told of an endpoint. */
export interface KubeadmSettings {
  /** `api.k8s.example.com:6443`. */
  readonly controlPlaneEndpoint: string;
  /** The endpoint's name, and those that SRV records lead to. */
  readonly certSANs: readonly string[];
  /** Seconds, at least {@link requiredShutdownDelaySeconds}. */
  readonly shutdownDelaySeconds: number;
  /** Seconds from the moment an apiserver says that it is not ready until no cache names it, worst case. */
  readonly forgottenSeconds: number;
}

interface KubeadmOptions {
  readonly config?: string;
  readonly discovery?: true;
  readonly json?: true;
  readonly apiVersion: string;
}

/** `livezone kubeadm`: prints the part of kubeadm's configuration that belongs to an endpoint. */
export function addKubeadm(program: Command, context: CommandContext): void {
  program
    .command("kubeadm")
    .description("print kubeadm's ClusterConfiguration for an endpoint: name, certificate names, shutdown delay")
    .argument("[endpoint]", "endpoint of the configuration (default: its only one)")
    .option(...CONFIG_OPTION)
    .addOption(
      new Option("--api-version <version>", "of kubeadm's configuration: v1beta3 for kubeadm up to 1.30")
        .choices(Object.keys(EXTRA_ARGUMENT))
        .default("v1beta4"),
    )
    .option("--discovery", "print instead what gives livezone a credential to discover targets with")
    .option("--json", "print the settings as JSON")
    .action(async (name: string | undefined, options: KubeadmOptions) => {
      endQuietlyWithoutReader();
      const file = findConfigFile(options.config);
      context.exit(
        await refusingProblems(() => {
          const endpoints = prepare(file).config.zones.flatMap((zone) => zone.endpoints);
          const endpoint = chooseEndpoint(endpoints, name);
          if (options.discovery === true) {
            process.stdout.write(discoverySettings(endpoint));
            return EXIT.success;
          }
          const settings = kubeadmSettings(endpoint);
          if (options.json === true) writeJson(process.stdout, settings);
          else process.stdout.write(clusterConfiguration(settings, endpoint.probe, options.apiVersion));
          return EXIT.success;
        }, options.json),
      );
    });
}

function chooseEndpoint(endpoints: readonly EndpointConfig[], name: string | undefined): EndpointConfig {
  const all = endpoints.map(({ fqdn }) => fqdn);
  const some = `${all.slice(0, 5).join(", ")}${all.length > 5 ? ", …" : ""}`;
  const [only, second] = endpoints;
  if (only === undefined) throw new UserError("the configuration has no endpoint", "ENDPOINT_NONE");
  if (name === undefined) {
    if (second === undefined) return only;
    throw new UserError(`the configuration has several endpoints; name one of ${some}`, "ENDPOINT_NOT_NAMED");
  }
  const wanted = name.toLowerCase().replace(/\.$/, "");
  const found = endpoints.find(({ fqdn }) => fqdn === wanted);
  if (found === undefined)
    throw new UserError(`${name} is no endpoint of the configuration; it has ${some}`, "ENDPOINT_UNKNOWN");
  return found;
}

/** What follows from an endpoint's configuration. */
function kubeadmSettings(endpoint: EndpointConfig): KubeadmSettings {
  const { fqdn, port, targets } = endpoint;
  const forgottenSeconds = requiredShutdownDelaySeconds(endpoint);
  return {
    controlPlaneEndpoint: `${fqdn}:${port}`,
    certSANs: [fqdn, ...targets.map(({ id }) => `${id}.${fqdn}`)],
    shutdownDelaySeconds: Math.max(RECOMMENDED_DELAY_SECONDS, forgottenSeconds),
    forgottenSeconds,
  };
}

/** Why an apiserver must go on serving while it stops, as a comment; a probe that does not ask it cannot know. */
function delayNote(probe: ProbeConfig, forgottenSeconds: number): string {
  const types = [...new Set(singleProbes(probe).map(({ type }) => type))].join(" and ");
  return !seesShutdown(probe)
    ? `A probe of type ${types} does not see that an apiserver is about to stop: drain its target first, or probe https at /readyz.`
    : `An apiserver that stops is forgotten by every cache after ${forgottenSeconds} s at worst; until then it must serve.`;
}

function clusterConfiguration(settings: KubeadmSettings, probe: ProbeConfig, apiVersion: string): string {
  const { controlPlaneEndpoint, certSANs, shutdownDelaySeconds, forgottenSeconds } = settings;
  const [name = "", ...targetNames] = certSANs;
  const sans = targetNames.map((target) => `    - ${target}\n`).join("");
  const argument = EXTRA_ARGUMENT[apiVersion] ?? (() => "");
  // A DNS answer concerns new connections only; with a single apiserver the only new connection is the old one again.
  const goaway =
    targetNames.length < 2
      ? ""
      : `    # One request in a thousand ends its connection, so that connections spread again after a restart (at most 0.02).\n${argument("goaway-chance", GOAWAY_CHANCE)}`;
  const grace = shutdownDelaySeconds + 10;
  const graceNote =
    grace <= DEFAULT_GRACE_SECONDS
      ? ""
      : `# The kubelet kills a Pod after ${DEFAULT_GRACE_SECONDS} s: give kube-apiserver terminationGracePeriodSeconds: ${grace} with a kubeadm patch.\n`;
  return `# For kubeadm init --config FILE. In a cluster that runs: change the same lines of ClusterConfiguration
# (kubectl -n kube-system edit configmap kubeadm-config), then on each control-plane node remove
# /etc/kubernetes/pki/apiserver.crt and .key, and run kubeadm init phase certs apiserver --config FILE and
# kubeadm init phase control-plane apiserver --config FILE.
${graceNote}apiVersion: kubeadm.k8s.io/${apiVersion}
kind: ClusterConfiguration
controlPlaneEndpoint: ${controlPlaneEndpoint}
apiServer:
  certSANs:
    - ${name}
${sans === "" ? "" : `    # for clients that follow the endpoint's SRV records\n${sans}`}  extraArgs:
    # ${delayNote(probe, forgottenSeconds)}
${argument("shutdown-delay-duration", `${shutdownDelaySeconds}s`)}    # While it stops, it tells clients to come again on a new connection, which leads to another apiserver.
${argument("shutdown-send-retry-after", '"true"')}${goaway}`;
}
