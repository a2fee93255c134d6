import type { RegistryEvent, WatchOptions } from '../contracts/registry.ts'

type Listener = (event: RegistryEvent) => void

/** Listeners of a registry, isolated from each other's errors. */
export interface RegistryWatchers {
  /** See `Registry.watch`. */
  readonly watch: (listener: Listener, options?: WatchOptions) => () => void
  readonly size: number
  /** Notifies the listeners of the service and of all services. */
  readonly emit: (event: RegistryEvent) => void
  /** Calls `WatchOptions.onOutage` of all listeners, including those added during the outage. */
  readonly reportOutage: (reason: Error | undefined) => void
}

/** One object per `watch` call, so that the same function can be added twice. */
interface Entry {
  readonly listener: Listener
  readonly onOutage: WatchOptions['onOutage']
}

type Entries = Set<Entry>

export function createRegistryWatchers(): RegistryWatchers {
  const unfiltered: Entries = new Set()
  const byService = new Map<string, Entries>()
  const all: Entries = new Set()
  let outage: Error | undefined

  return {
    get size() {
      return all.size
    },

    watch(listener, { service, onOutage } = {}) {
      const entry = { listener, onOutage }
      all.add(entry)
      if (outage !== undefined)
        queueMicrotask(() => {
          if (outage !== undefined && all.has(entry)) attempt(() => onOutage?.(outage))
        })
      const entries = service === undefined ? unfiltered : (byService.get(service) ?? new Set())
      if (service !== undefined) byService.set(service, entries)
      entries.add(entry)
      return () => {
        all.delete(entry)
        entries.delete(entry)
        if (service !== undefined && entries.size === 0 && byService.get(service) === entries)
          byService.delete(service)
      }
    },

    emit(event) {
      for (const { listener } of [...(byService.get(event.service.name) ?? []), ...unfiltered])
        attempt(() => listener(event))
    },

    reportOutage(reason) {
      outage = reason
      for (const { onOutage } of [...all]) attempt(() => onOutage?.(reason))
    },
  }
}

function attempt(notify: () => void): void {
  try {
    notify()
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error))
  }
}
