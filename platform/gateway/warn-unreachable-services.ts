import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import type { Settings } from '../settings/settings.ts'

export interface OutsideOptions {
  readonly settings: () => Pick<Settings, 'namespace' | 'resolver'>
  /** Full names of services that are warned about elsewhere. */
  readonly configured: () => readonly string[]
  readonly onWarning: (message: string) => void
}

/** A registry that is a service knows itself, and is called by programs, not by paths. */
const ITSELF = 'registry'
const NAMES_SHOWN = 3

/** Warns once of services in the registry that no path leads to, since their names lie outside the namespace. To be told of those there are. */
export function createOutsideCheck({
  settings,
  configured,
  onWarning,
}: OutsideOptions): (services: readonly Service[]) => void {
  let isTold = false
  return (services) => {
    const { namespace, resolver } = settings()
    // Hosts choose the namespace.
    if (isTold || resolver.startsWith('subdomain')) return
    const prefix = joinName(namespace, '')
    const outside = new Set<string>()
    for (const { name } of services)
      if (name !== ITSELF && !name.startsWith(prefix)) outside.add(name)
    if (outside.size > 0) for (const name of configured()) outside.delete(name)
    if (outside.size === 0) return
    isTold = true
    const names = [...outside].slice(0, NAMES_SHOWN).join(', ')
    const what =
      outside.size === 1 ? 'service of the registry lies' : 'services of the registry lie'
    const more = outside.size > NAMES_SHOWN ? ', ...' : ''
    onWarning(
      `${outside.size} ${what} outside the namespace ${namespace}, so that no path leads there: ${names}${more}; --namespace=" " (a blank) takes them all`,
    )
  }
}
