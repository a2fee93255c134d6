import { indexServices, listServices } from '../configured-services.ts'
import type { Configuration } from '../types.ts'

const SECURE = /^(?:https|grpcs|mxs)$/

/** Returns warnings about settings of services. */
export function lintServices(configuration: Configuration): readonly string[] {
  const configured = indexServices(configuration)
  return [...configured].flatMap(([name, { tls }]) => {
    if (tls === undefined) return []
    const { at, warnings, isVerified } = tls
    const nodes = listServices(configuration).filter((service) => service.name === name)
    const isUsed = nodes.some((service) =>
      service.nodes.some(({ metadata }) => SECURE.test(metadata['protocol'] ?? '')),
    )
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
            `${at}: insecure_skip_verify: any server can pose as a node of service ${name}; set ca to the authority of its certificates`,
          ]),
    ]
  })
}
