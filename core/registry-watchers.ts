import type { RegistryEvent, WatchOptions } from './contracts/registry.ts'

type Listener = (event: RegistryEvent) => void

/** The listeners of a registry whose changes are known in this process. */
export interface RegistryWatchers {
  /** As `Registry.watch`; of the options, `service`. */
  readonly watch: (listener: Listener, options?: WatchOptions) => () => void
  /** Tells the listeners of the service, and those of all; one that throws costs the others nothing. */
  readonly emit: (event: RegistryEvent) => void
}

/** Its own object for each call of `watch`, so that a function given twice is two listeners. */
type Entries = Set<{ readonly listener: Listener }>

export function createWatchers(): RegistryWatchers {
  const ofAll: Entries = new Set()
  const byService = new Map<string, Entries>()

  return {
    watch(listener, { service } = {}) {
      const entry = { listener }
      const entries = service === undefined ? ofAll : (byService.get(service) ?? new Set())
      if (service !== undefined) byService.set(service, entries)
      entries.add(entry)
      return () => {
        entries.delete(entry)
        if (service !== undefined && entries.size === 0 && byService.get(service) === entries)
          byService.delete(service)
      }
    },

    emit(event) {
      for (const { listener } of [...(byService.get(event.service.name) ?? []), ...ofAll]) {
        try {
          listener(event)
        } catch (error) {
          process.emitWarning(error instanceof Error ? error : String(error))
        }
      }
    },
  }
}
