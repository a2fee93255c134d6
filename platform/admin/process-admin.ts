import type { Maybe } from '../../lib/async/maybe.ts'
import type { ConfigVersions } from '../../services/gateway/config-versions.ts'
import type { NodeControl } from '../../services/gateway/node-control.ts'
import type { Configuration } from '../config/types.ts'
import type { Log } from '../process/log.ts'
import type { AdminSource } from './admin.ts'
import { createCacheEndpoints, type PurgeCaches } from './cache-endpoints.ts'
import { createConfigEndpoints } from './config-endpoints.ts'
import { format } from './metrics/format.ts'
import { prefersOpenMetrics } from './metrics/negotiate.ts'
import { readProcessMetrics } from './metrics/read-process.ts'
import type { Metric } from './metrics/samples.ts'
import { createAdminNodeEndpoints } from './node-endpoints.ts'
import { type OpenAdmin, openAdmin } from './open-admin.ts'
import { createReadiness } from './readiness.ts'

/** Data sources for the admin server of a serving process. */
export interface AdminSources {
  /** Returns the reasons why the process is not ready. */
  readonly problems: () => Maybe<readonly string[]>
  readonly metrics: () => Promise<readonly Metric[]>
  /** Versions of the configuration, which are accessible with `admin_token`. @default none */
  readonly versions?: ConfigVersions
  /** Nodes of the services. */
  readonly nodes: NodeControl
  /** Removes stored responses. */
  readonly purge: PurgeCaches
  /** Returns the current drain delay in milliseconds. */
  readonly drainDelayMs: () => number
}

/**
 * The admin server of a process, from before the process starts until it has drained.
 *
 * Call {@link start}, {@link setSources} once the process is serving, {@link leave} at the start of
 * a shutdown, and {@link close} at its end.
 */
export interface ProcessAdmin {
  /**
   * Opens the admin server, then calls `open`. Closes the server if `open` fails.
   *
   * @throws {Error} with a one-line message if the address cannot be opened, and errors from
   * `open`.
   */
  readonly start: <T>(open: () => Promise<T>) => Promise<T>
  /** Marks the process as serving. */
  readonly setSources: (sources: AdminSources) => void
  /** Undefined if there is no admin server. */
  readonly url: string | undefined
  /** Logs {@link OpenAdmin.warning}. */
  readonly warn: () => void
  /** Marks the process as not ready. */
  readonly leave: () => void
  /** Returns how long the process still accepts requests in milliseconds; 0 before it serves. */
  readonly delayMs: () => number
  readonly close: () => Promise<void>
}

export function createProcessAdmin(configuration: Configuration, log: Log): ProcessAdmin {
  const readiness = createReadiness()
  let opened: OpenAdmin | undefined
  let sources: AdminSources | undefined
  const scrapes = new Map<boolean, Promise<AdminSource>>()

  /** Concurrent scrapes share one result. */
  function scrape(accept: string): Promise<AdminSource> {
    const isOpen = prefersOpenMetrics(accept)
    const running = scrapes.get(isOpen)
    if (running !== undefined) return running
    const reading = read(isOpen).finally(() => scrapes.delete(isOpen))
    scrapes.set(isOpen, reading)
    return reading
  }

  async function read(isOpen: boolean): Promise<AdminSource> {
    const metrics = sources === undefined ? await readProcessMetrics() : await sources.metrics()
    return await format(metrics, isOpen)
  }

  const { adminToken } = configuration.settings
  const config =
    adminToken === '' ? undefined : createConfigEndpoints(adminToken, () => sources?.versions)
  const nodes = createAdminNodeEndpoints(adminToken, () => sources?.nodes)
  const cache = createCacheEndpoints(adminToken, () => sources?.purge, log)
  const close = async (): Promise<void> => opened?.close()
  return {
    async start(open) {
      opened = await openAdmin(configuration, {
        ...{ readiness, scrape, config, nodes, cache, log },
      })
      try {
        return await open()
      } catch (error) {
        await close()
        throw error
      }
    },

    setSources(next) {
      sources = next
      readiness.serve(next.problems)
    },

    get url() {
      return opened?.url
    },

    warn() {
      if (opened?.warning !== undefined) log.warn(opened.warning)
    },

    leave: readiness.leave,
    delayMs: () => (readiness.isServing ? (sources?.drainDelayMs() ?? 0) : 0),
    close,
  }
}
