import type { StoreTable } from '../../core/contracts/store.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import type { Network } from '../../domain/mesh/network.ts'
import type { KnownService } from '../../domain/mesh/registry/route-registry.ts'
import { decodeRecord, encodeRecord } from '../../domain/store/json-record.ts'
import type { Store } from '../../domain/store/store.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

export interface KnownServicesOptions {
  readonly store: Pick<Store, 'read' | 'commit' | 'maxValueBytes'>
  readonly network: Pick<Network, 'id' | 'routes'>
  readonly log: PluginLog
  /** Milliseconds from a change to the save. @default 5000 */
  readonly saveMs?: number
}

/** The names of services of other servers, in the store: after a restart they are lost, not unknown, while their servers cannot be reached. */
export interface KnownServices {
  /** Restores what an earlier process saved, and saves from now on. What fails is logged. */
  readonly open: () => Promise<void>
  /** Saves for the last time. */
  readonly close: () => Promise<void>
}

interface Saved {
  readonly services: readonly KnownService[]
}

const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'network' }
const HOUR_MS = 60 * 60_000
const UNUSED_MS = 24 * HOUR_MS

export function createKnownServices(options: KnownServicesOptions): KnownServices {
  const { store, log, saveMs = 5000 } = options
  const { id, routes } = options.network
  let hasSaved = false
  let isFailing = false
  let timer: NodeJS.Timeout | undefined
  let saving: Promise<void> = Promise.resolve()
  let stop = (): void => {}

  async function save(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const services = fit(routes.listKnown(), store.maxValueBytes)
    if (services.length === 0 && !hasSaved) return
    const record = { table: TABLE, key: id, value: encodeRecord({ services }) }
    try {
      await store.commit([{ ...record, expiresMs: Date.now() + UNUSED_MS }])
      hasSaved = true
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'services of other servers were not saved')
      isFailing = true
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      saving = save()
    }, saveMs).unref()
  }

  return {
    async open() {
      try {
        const record = await store.read(TABLE, id)
        hasSaved = record !== undefined
        if (record !== undefined)
          routes.restore(
            decodeRecord<Saved>(record, TABLE.table, ({ services }) => Array.isArray(services))
              .services,
          )
      } catch (error) {
        log.warn({ err: error }, 'services of other servers were not restored')
      }
      const unwatch = routes.watch(schedule)
      // How long services have been lost, and that this server is in use.
      const refresh = setInterval(schedule, HOUR_MS).unref()
      stop = () => {
        unwatch()
        clearInterval(refresh)
        clearTimeout(timer)
      }
    },

    async close() {
      stop()
      await saving
      await save()
    },
  }
}

/** As many as a value may hold, the first ones. */
function fit(services: readonly KnownService[], maxBytes: number): readonly KnownService[] {
  let left = maxBytes - 100
  const end = services.findIndex((service) => {
    left -= Buffer.byteLength(JSON.stringify(service)) + 1
    return left < 0
  })
  return end < 0 ? services : services.slice(0, end)
}
