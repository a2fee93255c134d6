import type { Service } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { CliError, EXIT } from '../ui/output.ts'
import type { Session } from './session.ts'

interface Page {
  readonly services: readonly Service[]
  /** There are more: list after this. */
  readonly next?: string
}

/** All versions of all services of the namespace, by name and version. @throws {CliError} */
export async function listServices({ call, namespace }: Session): Promise<readonly Service[]> {
  const services: Service[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const request = { options: { domain: namespace }, after }
    const page: Page = await call('registry', 'Registry.ListServices', request)
    services.push(...page.services)
    after = page.next
  }
  return services
}

/**
 * All versions of a service: of the namespace, else of the default one, where built-in services are (reference 8.2).
 *
 * @returns none where nobody knows it.
 * @throws {CliError}
 */
export async function findService(session: Session, name: string): Promise<readonly Service[]> {
  for (const domain of new Set([session.namespace, DEFAULT_NAMESPACE])) {
    try {
      const request = { service: name, options: { domain } }
      const page = await session.call<Page>('registry', 'Registry.GetService', request)
      return page.services
    } catch (error) {
      if (!isNotThere(error, domain)) throw error
    }
  }
  return []
}

/** As {@link findService}, but one is there. @throws {CliError} with the one that may be meant. */
export async function mustFindService(session: Session, name: string): Promise<readonly Service[]> {
  const versions = await findService(session, name)
  if (versions.length > 0) return versions
  const meant = await suggestService(session, name)
  const hint = meant === undefined ? ". See 'mx services'" : `, did you mean ${meant}?`
  throw new CliError(`Service not found: ${name}${hint}`, { status: EXIT.unreachable })
}

/** One that may be meant by a name that nobody has; undefined: none, or they cannot be listed. */
export async function suggestService(session: Session, name: string): Promise<string | undefined> {
  const services = await listServices(session).catch(() => [])
  return suggest(
    name,
    services.map((service) => service.name),
  )
}

/** Whether the registry says that there is no such service, or nothing of a namespace whose member the caller is not. */
function isNotThere(error: unknown, domain: string): boolean {
  if (!(error instanceof CliError && error.cause instanceof GatewayError)) return false
  const { code, id } = error.cause
  if (id !== 'registry.Registry.GetService') return false
  return code === 404 || (domain !== DEFAULT_NAMESPACE && (code === 401 || code === 403))
}
