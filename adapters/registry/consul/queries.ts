import type { Service } from '../../../core/contracts/registry.ts'
import type { QueryParameters } from './blocking-query.ts'
import { type Answer, type ConsulClient, joinChunks, type QueryOptions } from './http/client.ts'
import { createConsulError, toNotConsulText } from './http/errors.ts'
import { type CatalogOptions, type CatalogReader, createCatalogReader } from './read-catalog.ts'
import { readHealth } from './read-health.ts'

/** What a registry asks Consul, and what the answers mean. */
export interface Queries {
  readonly askService: (name: string, question?: QueryParameters) => Promise<Answer>
  /** @throws {ConsulError} when the token may not see the service, or it is no answer of Consul. */
  readonly readService: (name: string, answer: Answer) => Service[]
  readonly askCatalog: (question?: QueryParameters) => Promise<Answer>
  /** @throws {ConsulError} when the token may see no service, or it is no answer of Consul. */
  readonly readCatalog: (answer: Answer) => Promise<readonly Service[]>
  /** As {@link CatalogReader.has}. */
  readonly isListed: CatalogReader['has']
  /** As {@link CatalogReader.note}, for an answer about a service. */
  readonly note: (name: string, answer: Answer) => readonly Service[] | undefined
}

/** Milliseconds an answer may take beyond what Consul was told to wait. */
const LATE_MS = 2000
const CATALOG_NEEDS = 'service:read and node:read'

export function createQueries(client: ConsulClient, options: CatalogOptions): Queries {
  const catalog = createCatalogReader(options)

  /** What comes after a lost connection must not wait for an index that another Consul may reach much later. */
  const mayWait = (question: QueryParameters): boolean =>
    question.index !== undefined && question.era === client.era()

  /** Worked out for each attempt. */
  function toWait(question: QueryParameters | undefined): { index?: string; wait?: string } {
    if (question?.index === undefined || !mayWait(question)) return {}
    return { index: question.index, wait: `${Math.ceil(question.waitSeconds * 1000)}ms` }
  }

  function toAskOptions(needs: string, question: QueryParameters | undefined): QueryOptions {
    if (question === undefined) return { needs }
    const { waitSeconds, signal } = question
    // Consul itself adds up to a sixteenth, so that not all come at once.
    const timeoutMs = waitSeconds * 1000 * (17 / 16) + LATE_MS
    return { needs, signal, ...(mayWait(question) && { timeoutMs, waits: true }) }
  }

  function read(name: string, { chunks }: Answer): Service[] {
    try {
      return readHealth(joinChunks(chunks), name, options, catalog.find(name))
    } catch (error) {
      throw orForeign(error)
    }
  }

  function orForeign(error: unknown): unknown {
    if (!(error instanceof SyntaxError)) return error
    return createConsulError(toNotConsulText(client.where, error.message))
  }

  return {
    askService: (name, question) =>
      client.ask(
        (consul, call) => consul.health.service({ service: name, ...toWait(question), ...call }),
        toAskOptions(toServiceNeeds(name), question),
      ),

    readService: (name, answer) => seen(read(name, answer), answer, toServiceNeeds(name)),

    askCatalog: (question) =>
      client.ask(
        (consul, call) => consul.catalog.service.list({ ...toWait(question), ...call }),
        toAskOptions(CATALOG_NEEDS, question),
      ),

    async readCatalog(answer) {
      const services = await catalog.read(answer).catch((error: unknown) => {
        throw orForeign(error)
      })
      return seen(services, answer, CATALOG_NEEDS)
    },

    isListed: catalog.has,

    note(name, answer) {
      const services = read(name, answer)
      return services.length === 0 ? undefined : catalog.note(name, services, answer)
    },
  }
}

/** What a token may not see is left out of an answer as if it were not there: nothing at all is suspicious. */
function seen<T extends readonly Service[]>(services: T, { filtered }: Answer, needs: string): T {
  if (services.length > 0 || !filtered) return services
  throw createConsulError(`Consul hides its answer from the token: it needs ${needs}`, {
    denied: true,
  })
}

function toServiceNeeds(name: string): string {
  return `service:read ${JSON.stringify(name)} and node:read`
}
