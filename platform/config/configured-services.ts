import type { DnsService } from '../../adapters/registry/dns/dns-services.ts'
import { parseBackend, toService } from '../../adapters/registry/static.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import { NEEDS_NODES } from './services/needs-nodes.ts'
import type { Configuration, ConfiguredService } from './types.ts'

/**
 * Returns the services of `--backend` and `mx.yaml` with full names. A flag replaces the service in
 * the file.
 */
export function listServices({ settings, config }: Configuration): readonly Service[] {
  const { namespace } = settings
  const flagged = settings.backends.map((text) => parseBackend(text, namespace))
  const names = new Set(flagged.map(({ name }) => name))
  const listed = config.services
    .filter(hasNodes)
    .map(({ name, nodes }) => toService(name, nodes, namespace))
  return [...flagged, ...listed.filter(({ name }) => !names.has(name))]
}

/** Returns false if the nodes come from the registry. */
function hasNodes({ nodes, srv }: ConfiguredService): boolean {
  return nodes.length > 0 || srv.length > 0
}

/** Returns problems with services that have no nodes, which require a registry. */
export function findMissingNodes(configuration: Configuration): readonly string[] {
  const { settings, config } = configuration
  if (settings.registry !== 'static') return []
  const known = listNames(configuration)
  return config.services
    .filter(({ name }) => !known.includes(toFullName(name, settings.namespace)))
    .map(
      ({ name, at }) =>
        `${at}: service "${name}" ${NEEDS_NODES}, or a registry that contains it (--registry)`,
    )
}

/**
 * Returns the unique full names of {@link listServices}. Several flags may add nodes to the same
 * service.
 */
export function listNames(configuration: Configuration): readonly string[] {
  return [...new Set(listServices(configuration).map(({ name }) => name))]
}

/**
 * Returns the services in the file by full name. A flag replaces the nodes of such a service but
 * not its settings.
 */
export function indexServices({
  settings,
  config,
}: Configuration): ReadonlyMap<string, ConfiguredService> {
  return new Map(
    config.services.map((service) => [toFullName(service.name, settings.namespace), service]),
  )
}

/**
 * Returns the services with the DNS options for their names. Only services in the file have SRV
 * names.
 */
export function listDnsServices(configuration: Configuration): readonly DnsService[] {
  const configured = indexServices(configuration)
  const { namespace, backends } = configuration.settings
  const flagged = new Set(backends.map((text) => parseBackend(text, namespace).name))
  return listServices(configuration).map((service) => {
    const { srv = [], dns } = configured.get(service.name) ?? {}
    return { service, srv: flagged.has(service.name) ? [] : srv, dns }
  })
}

/** Returns additional files of the configuration, which trigger a reload when they change. */
export function listServiceFiles({ config }: Configuration): readonly string[] {
  return config.services.flatMap(({ tls }) => tls?.files ?? [])
}

/**
 * Returns the full name of a service in the file. A name without a dot is relative to the
 * namespace.
 */
export function toFullName(name: string, namespace: string): string {
  return name.includes('.') ? name : joinName(namespace, name)
}
