import { parseBackend } from '../../adapters/registry/static.ts'
import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import type { Configuration, ServiceEntry } from './types.ts'

/** The services a configuration lists, by full name: those of `--backend`, and those of `mx.yaml` that no flag replaces. */
export function listServices({ settings, config }: Configuration): readonly Service[] {
  const { namespace } = settings
  const flagged = settings.backends.map((text) => parseBackend(text, namespace))
  const names = new Set(flagged.map(({ name }) => name))
  const listed = config.services.map(({ name, nodes }) =>
    parseBackend(`${name}=${nodes.join(',')}`, namespace),
  )
  return [...flagged, ...listed.filter(({ name }) => !names.has(name))]
}

/** Full names of {@link listServices}, each once: several flags may add to one service. */
export function listNames(configuration: Configuration): readonly string[] {
  return [...new Set(listServices(configuration).map(({ name }) => name))]
}

/** The settings that a service may have of its own. */
export const SERVICE_SETTINGS = ['balance', 'keepAliveMs', 'maxConnectionAgeMs'] as const
export type ServiceSetting = (typeof SERVICE_SETTINGS)[number]

/** Values of one setting that single services have of their own, by full name. */
export function listConfiguredServices<Key extends ServiceSetting>(
  { settings, config }: Configuration,
  key: Key,
): ReadonlyMap<string, NonNullable<ServiceEntry[Key]>> {
  const own = new Map<string, NonNullable<ServiceEntry[Key]>>()
  for (const service of config.services) {
    const { name, [key]: value } = service
    const full = name.includes('.') ? name : joinName(settings.namespace, name)
    if (value !== undefined) own.set(full, value as NonNullable<ServiceEntry[Key]>)
  }
  return own
}
