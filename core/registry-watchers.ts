import type { RegistryEvent } from './contracts/registry.ts'

type Listener = (event: RegistryEvent) => void

/** The listeners of a registry that changes in this process. */
export interface RegistryWatchers {
  /** As {@link Registry.watch}. */
  readonly watch: (listener: Listener) => () => void
  /** Tells every listener; one that throws costs the others nothing. */
  readonly emit: (event: RegistryEvent) => void
}

export function createWatchers(): RegistryWatchers {
  const listeners = new Set<{ readonly listener: Listener }>()
  return {
    watch(listener) {
      // Its own object, so that a function given twice is two listeners.
      const entry = { listener }
      listeners.add(entry)
      return () => {
        listeners.delete(entry)
      }
    },

    emit(event) {
      for (const { listener } of [...listeners]) {
        try {
          listener(event)
        } catch (error) {
          process.emitWarning(error instanceof Error ? error : String(error))
        }
      }
    },
  }
}
