import type { Service } from '../../../core/contracts/registry.ts'
import type { QueryParameters } from './blocking-query.ts'
import {
  type ConsulClient,
  type ConsulResponse,
  joinChunks,
  type QueryOptions,
} from './http/client.ts'
import { createConsulError, toNotConsulText } from './http/errors.ts'
import { type CatalogOptions, type CatalogReader, createCatalogReader } from './read-catalog.ts'
import { readHealth } from './read-health.ts'

/** Queries of the registry, and parsers of their responses. */
export interface Queries {
  readonly queryService: (name: string, parameters?: QueryParameters) => Promise<ConsulResponse>
  /**
   * @throws {ConsulError} if the token lacks permission to read the service, or the response does
   * not come from Consul.
   */
  readonly readService: (name: string, response: ConsulResponse) => Service[]
  readonly queryCatalog: (parameters?: QueryParameters) => Promise<ConsulResponse>
  /**
   * @throws {ConsulError} if the token lacks permission to read any service, or the response does
   * not come from Consul.
   */
  readonly readCatalog: (response: ConsulResponse) => Promise<readonly Service[]>
  readonly isListed: CatalogReader['has']
  /** See {@link CatalogReader.addUncataloged}; for a response about one service. */
  readonly addUncataloged: (
    name: string,
    response: ConsulResponse,
  ) => readonly Service[] | undefined
}

/** Grace period in milliseconds added to the wait time of a blocking query. */
const GRACE_MS = 2000
const CATALOG_NEEDS = 'service:read and node:read'

export function createQueries(client: ConsulClient, options: CatalogOptions): Queries {
  const catalog = createCatalogReader(options)

  /**
   * After losing a connection, a query must not block on an index that another Consul server may
   * reach much later.
   */
  const canBlock = (parameters: QueryParameters): boolean =>
    parameters.index !== undefined && parameters.era === client.era()

  /** Evaluated for each attempt. */
  function toBlockingParameters(parameters: QueryParameters | undefined): {
    index?: string
    wait?: string
  } {
    if (parameters?.index === undefined || !canBlock(parameters)) return {}
    return { index: parameters.index, wait: `${Math.ceil(parameters.waitSeconds * 1000)}ms` }
  }

  function toQueryOptions(needs: string, parameters: QueryParameters | undefined): QueryOptions {
    if (parameters === undefined) return { needs }
    const { waitSeconds, signal } = parameters
    // Consul adds up to a sixteenth of jitter.
    const timeoutMs = waitSeconds * 1000 * (17 / 16) + GRACE_MS
    return { needs, signal, ...(canBlock(parameters) && { timeoutMs, blocking: true }) }
  }

  function read(name: string, { chunks }: ConsulResponse): Service[] {
    try {
      return readHealth(joinChunks(chunks), name, options, catalog.find(name))
    } catch (error) {
      throw toNotConsul(error)
    }
  }

  function toNotConsul(error: unknown): unknown {
    if (!(error instanceof SyntaxError)) return error
    return createConsulError(toNotConsulText(client.authority, error.message))
  }

  return {
    queryService: (name, parameters) =>
      client.request(
        (consul, call) =>
          consul.health.service({ service: name, ...toBlockingParameters(parameters), ...call }),
        toQueryOptions(toServiceNeeds(name), parameters),
      ),

    readService: (name, response) =>
      checkVisible(read(name, response), response, toServiceNeeds(name)),

    queryCatalog: (parameters) =>
      client.request(
        (consul, call) =>
          consul.catalog.service.list({ ...toBlockingParameters(parameters), ...call }),
        toQueryOptions(CATALOG_NEEDS, parameters),
      ),

    async readCatalog(response) {
      const services = await catalog.read(response).catch((error: unknown) => {
        throw toNotConsul(error)
      })
      return checkVisible(services, response, CATALOG_NEEDS)
    },

    isListed: catalog.has,

    addUncataloged(name, response) {
      const services = read(name, response)
      return services.length === 0 ? undefined : catalog.addUncataloged(name, services, response)
    },
  }
}

/** Treats an empty filtered response as a denial, because ACLs remove results silently. */
function checkVisible<T extends readonly Service[]>(
  services: T,
  { filtered }: ConsulResponse,
  needs: string,
): T {
  if (services.length > 0 || !filtered) return services
  throw createConsulError(`Consul returned no results to the token: it needs ${needs}`, {
    denied: true,
  })
}

function toServiceNeeds(name: string): string {
  return `service:read ${JSON.stringify(name)} and node:read`
}
