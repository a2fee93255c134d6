import { parseBackend } from '../../adapters/registry/static.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import type { Configuration, ConfiguredService } from './types.ts'

/** Services of `--backend` and `mx.yaml`, with full names. A flag replaces the service of the file. */
export function listServices({ settings, config }: Configuration): readonly Service[] {
  const { namespace } = settings
  const flagged = settings.backends.map((text) => parseBackend(text, namespace))
  const names = new Set(flagged.map(({ name }) => name))
  const listed = config.services.map(({ name, nodes }) =>
    parseBackend(`${name}=${nodes.join(',')}`, namespace),
  )
  return [...flagged, ...listed.filter(({ name }) => !names.has(name))]
}

/** Unique full names of {@link listServices}: several flags may add nodes to one service. */
export function listNames(configuration: Configuration): readonly string[] {
  return [...new Set(listServices(configuration).map(({ name }) => name))]
}

/** Settings that a service can override. */
export const SERVICE_SETTINGS = [
  'balance',
  'keepAliveMs',
  'maxConnectionAgeMs',
  'connectTimeoutMs',
  'replyTimeoutMs',
  'idleTimeoutMs',
] as const
export type ServiceSetting = (typeof SERVICE_SETTINGS)[number]

/** Overrides of a setting by services, by full service name. */
export function listConfiguredServices<Key extends ServiceSetting>(
  { settings, config }: Configuration,
  key: Key,
): ReadonlyMap<string, NonNullable<ConfiguredService[Key]>> {
  const overrides = new Map<string, NonNullable<ConfiguredService[Key]>>()
  for (const service of config.services) {
    const { name, [key]: value } = service
    const full = toFullName(name, settings.namespace)
    if (value !== undefined) overrides.set(full, value as NonNullable<ConfiguredService[Key]>)
  }
  return overrides
}

/** Full name of a service of the file: without a dot it is relative to the namespace. */
export function toFullName(name: string, namespace: string): string {
  return name.includes('.') ? name : joinName(namespace, name)
}
