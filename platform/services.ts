import { parseBackend } from '../adapters/registry/static.ts'
import type { Service } from '../core/contracts/registry.ts'
import { joinName } from '../core/route.ts'
import type { Configuration } from './configuration.ts'

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

/** Node choices of single services, by full name. */
export function listBalances({ settings, config }: Configuration): ReadonlyMap<string, string> {
  const own = config.services.flatMap(({ name, balance }) => {
    const full = name.includes('.') ? name : joinName(settings.namespace, name)
    return balance === undefined ? [] : [[full, balance] as const]
  })
  return new Map(own)
}
