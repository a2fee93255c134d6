import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'

/** A registry that can be watched. */
type Watchable = Registry & Required<Pick<Registry, 'watch'>>

/** One that is known in this process, and answers at once. */
export interface LocalRegistry extends Watchable {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
}

/**
 * Two registries as one: services of `own` hide those of the same name in `other`, all versions of them. What is configured by
 * hand is meant, whoever else uses the name. Nothing is registered through it; closing it closes both.
 */
export function createJoinedRegistry(own: LocalRegistry, other: Watchable): Watchable {
  const owns = (name: string): boolean => own.getService(name).length > 0

  return {
    name: other.name,

    getService(name) {
      const services = own.getService(name)
      return services.length > 0 ? services : other.getService(name)
    },

    async listServices() {
      const others = await other.listServices()
      return [...own.listServices(), ...others.filter(({ name }) => !owns(name))]
    },

    watch(listener, options = {}) {
      const { onOutage, ...which } = options
      /** Names that are the other registry's now, which could not be asked about them. */
      const unread = new Set<string>()
      let stopped = false
      let away = false

      /** A name that was one registry's is the other's: tells how the versions of the other one come, or go. */
      async function handOver(name: string): Promise<void> {
        const wasOwned = !owns(name)
        unread.delete(name)
        let services: readonly Service[]
        try {
          services = await other.getService(name)
        } catch {
          if (wasOwned) unread.add(name)
          return
        }
        if (stopped || owns(name) === wasOwned) return
        const kept = new Set(own.getService(name).map(({ version }) => version))
        for (const service of services) {
          if (wasOwned) listener({ type: 'create', service })
          else if (!kept.has(service.version))
            listener({ type: 'delete', service: { ...service, nodes: [] } })
        }
      }

      /** Ends an outage with what could not be asked meanwhile. */
      async function recover(): Promise<void> {
        await Promise.all([...unread].map(handOver))
        if (!stopped && !away) onOutage?.(undefined)
      }

      const hearOwn = (event: RegistryEvent): void => {
        listener(event)
        const { name } = event.service
        const versions = own.getService(name).length
        const changedHands = event.type === 'create' ? versions === 1 : versions === 0
        if (changedHands) void handOver(name)
      }
      const stopOwn = own.watch(hearOwn, which)
      const stopOther = other.watch(
        (event) => {
          if (!owns(event.service.name)) listener(event)
        },
        {
          ...which,
          onOutage(reason) {
            away = reason !== undefined
            if (away || unread.size === 0) onOutage?.(reason)
            else void recover()
          },
        },
      )
      return () => {
        stopped = true
        stopOwn()
        stopOther()
      }
    },

    async close() {
      await own.close?.()
      await other.close?.()
    },
  }
}
