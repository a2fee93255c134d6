import type { Service } from '../../core/contracts/registry.ts'
import { joinName } from '../../core/route.ts'
import type { Settings } from '../settings/settings.ts'

export interface OutsideOptions {
  readonly settings: () => Pick<Settings, 'namespace' | 'resolver'>
  /** Returns the full names of services that have their own warnings, see `lintConfiguration`. */
  readonly configured: () => readonly string[]
  readonly onWarning: (message: string) => void
}

/** The registry service, which programs call directly rather than by path. */
const REGISTRY_SERVICE = 'registry'
const NAMES_SHOWN = 3

/**
 * Warns once about registered services that are unreachable by path because their names are outside
 * the namespace.
 */
export function createUnreachableServiceCheck({
  settings,
  configured,
  onWarning,
}: OutsideOptions): (services: readonly Service[]) => void {
  let hasWarned = false
  return (services) => {
    const { namespace, resolver } = settings()
    // The namespace is selected by the host.
    if (hasWarned || resolver.startsWith('subdomain')) return
    const prefix = joinName(namespace, '')
    const outside = new Set<string>()
    for (const { name } of services)
      if (name !== REGISTRY_SERVICE && !name.startsWith(prefix)) outside.add(name)
    if (outside.size > 0) for (const name of configured()) outside.delete(name)
    if (outside.size === 0) return
    hasWarned = true
    const names = [...outside].slice(0, NAMES_SHOWN).join(', ')
    const subject = outside.size === 1 ? 'registered service is' : 'registered services are'
    const more = outside.size > NAMES_SHOWN ? ', ...' : ''
    onWarning(
      `${outside.size} ${subject} outside the namespace ${namespace} and unreachable by path: ${names}${more}; --namespace=" " (a space) makes all services reachable`,
    )
  }
}
