import type { StoreTable } from '../../core/contracts/store.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { decodeRecord, encodeRecord } from '../../domain/store/json-record.ts'
import type { Store } from '../../domain/store/store.ts'
import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'

/** Source of services that outlive the process, each serialized as JSON. */
export interface KnownServicesSource<T> {
  readonly listKnown: () => readonly T[]
  /** @throws {TypeError} if the input is malformed. */
  readonly restore: (stored: readonly T[]) => void
  /** Calls `listener` after each change until the returned function is called. */
  readonly watch: (listener: () => void) => () => void
}

export interface KnownServicesOptions<T> {
  readonly store: Pick<Store, 'read' | 'commit' | 'maxValueBytes'>
  /** Key of the record. */
  readonly key: string
  readonly source: KnownServicesSource<T>
  readonly log: PluginLog
  /** Delay in milliseconds between a change and saving it. @default 5000 */
  readonly saveMs?: number
}

/**
 * Stores services with the paths they declare. After a restart, they are unavailable rather than
 * unknown until they register again.
 */
export interface KnownServices {
  /** Restores saved names and starts saving changes. Errors are logged. */
  readonly open: () => Promise<void>
  /** Saves one last time. */
  readonly close: () => Promise<void>
}

interface Saved<T> {
  readonly services: readonly T[]
}

const TABLE: StoreTable = { database: DEFAULT_NAMESPACE, table: 'network' }
const HOUR_MS = 60 * 60_000
const UNUSED_MS = 24 * HOUR_MS

export function createKnownServices<T>(options: KnownServicesOptions<T>): KnownServices {
  const { store, key, source, log, saveMs = 5000 } = options
  let hasSaved = false
  let isFailing = false
  let timer: NodeJS.Timeout | undefined
  let saving: Promise<void> = Promise.resolve()
  let stop: (() => void) | undefined

  async function save(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const services = fit(source.listKnown(), store.maxValueBytes)
    if (services.length === 0 && !hasSaved) return
    const record = { table: TABLE, key, value: encodeRecord({ services }) }
    try {
      await store.commit([{ ...record, expiresMs: Date.now() + UNUSED_MS }])
      hasSaved = true
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'cannot save known services')
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
        const record = await store.read(TABLE, key)
        hasSaved = record !== undefined
        if (record !== undefined)
          source.restore(
            decodeRecord<Saved<T>>(record, TABLE.table, ({ services }) => Array.isArray(services))
              .services,
          )
      } catch (error) {
        log.warn({ err: error }, 'cannot restore known services')
      }
      const unwatch = source.watch(schedule)
      // Updates the time since which services have been missing, and records that this server is in use.
      const refresh = setInterval(schedule, HOUR_MS).unref()
      stop = () => {
        unwatch()
        clearInterval(refresh)
        clearTimeout(timer)
      }
    },

    async close() {
      // Skipped if services were not restored, because saving would overwrite them.
      if (stop === undefined) return
      stop()
      await saving
      await save()
    },
  }
}

/**
 * Returns as many services as fit into a value, shortest first, so that a long entry does not
 * displace others.
 */
function fit<T>(services: readonly T[], maxBytes: number): readonly T[] {
  let remainingBytes = maxBytes - 100
  return services
    .map((service) => ({ service, bytes: Buffer.byteLength(JSON.stringify(service)) + 1 }))
    .sort((a, b) => a.bytes - b.bytes)
    .filter(({ bytes }) => {
      remainingBytes -= bytes
      return remainingBytes >= 0
    })
    .map(({ service }) => service)
}
