import type { Service } from '../../core/contracts/registry.ts'
import { GatewayError } from '../../core/errors.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import { CliError, EXIT } from '../ui/output.ts'
import type { Session } from './session.ts'

interface Page {
  readonly services: readonly Service[]
  /** Name that starts the next page; absent on the last page. */
  readonly next?: string
}

/** Lists all versions of all services in the namespace, ordered by name and version. @throws {CliError} */
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
 * Finds all versions of a service in the namespace, else in the default namespace, which contains the built-in services
 * (reference 8.2).
 *
 * @returns an empty list for an unknown service
 * @throws {CliError}
 */
export async function findService(session: Session, name: string): Promise<readonly Service[]> {
  for (const domain of new Set([session.namespace, DEFAULT_NAMESPACE])) {
    try {
      const request = { service: name, options: { domain } }
      const page = await session.call<Page>('registry', 'Registry.GetService', request)
      return page.services
    } catch (error) {
      if (!isUnknownService(error, domain)) throw error
    }
  }
  return []
}

/** Like {@link findService}. @throws {CliError} for an unknown service, suggesting a similar name */
export async function mustFindService(session: Session, name: string): Promise<readonly Service[]> {
  const versions = await findService(session, name)
  if (versions.length > 0) return versions
  const similar = await suggestService(session, name)
  const hint = similar === undefined ? ". See 'mx services'" : `, did you mean ${similar}?`
  throw new CliError(`Service not found: ${name}${hint}`, { status: EXIT.unreachable })
}

/** Name of a similar service; undefined if none is similar or services cannot be listed. */
export async function suggestService(session: Session, name: string): Promise<string | undefined> {
  const services = await listServices(session).catch(() => [])
  return suggest(
    name,
    services.map((service) => service.name),
  )
}

/** True if the service is not registered, or the registry denies access to the namespace. */
function isUnknownService(error: unknown, domain: string): boolean {
  if (!(error instanceof CliError && error.cause instanceof GatewayError)) return false
  const { code, id } = error.cause
  if (id !== 'registry.Registry.GetService') return false
  return code === 404 || (domain !== DEFAULT_NAMESPACE && (code === 401 || code === 403))
}
