import { hasName, type SrvName } from '../../../adapters/registry/dns/names.ts'
import type { Service } from '../../../core/contracts/registry.ts'
import { indexServices, listNames, listServices } from '../configured-services.ts'
import type { Configuration, ConfiguredTls } from '../types.ts'

const SECURE = /^(?:https|grpcs|mxs)$/

/** Returns warnings about settings of services. */
export function lintServices(configuration: Configuration): readonly string[] {
  const configured = indexServices(configuration)
  return [...configured].flatMap(([name, { tls, srv, dns, at }]) => {
    // The nodes come from the registry.
    const isUnknown = !listNames(configuration).includes(name)
    const nodes = listServices(configuration).filter((service) => service.name === name)
    return [
      ...(tls === undefined ? [] : lintTls(name, isUnknown ? undefined : nodes, srv, tls)),
      ...(dns === undefined || srv.length > 0 || nodes.some((each) => each.nodes.some(hasName))
        ? []
        : [
            `${at}: dns of service ${name} has no effect: ${isUnknown ? 'its nodes come from the registry' : 'all of its nodes are IP addresses'}`,
          ]),
    ]
  })
}

function lintTls(
  name: string,
  nodes: readonly Service[] | undefined,
  srv: readonly SrvName[],
  { at, warnings, isVerified }: ConfiguredTls,
): string[] {
  const protocols = [
    ...(nodes ?? []).flatMap((service) =>
      service.nodes.map(({ metadata }) => metadata['protocol'] ?? ''),
    ),
    ...srv.map(({ protocol }) => protocol),
  ]
  const isUsed = nodes === undefined || protocols.some((protocol) => SECURE.test(protocol))
  return [
    ...warnings.map((warning) => `${at}: ${warning}`),
    ...(isUsed
      ? []
      : [
          `${at}: tls of service ${name} has no effect: write its nodes as https://host:port, grpcs://host:port or mxs://host:port`,
        ]),
    ...(isVerified
      ? []
      : [
          `${at}: insecure_skip_verify lets any server pose as a node of service ${name}; set ca to the authority of its certificates`,
        ]),
  ]
}
