import type { Registry, RegistryEvent, Service } from '../../core/contracts/registry.ts'

type Watchable = Registry & Required<Pick<Registry, 'watch'>>

/** A watchable registry that returns results synchronously. */
export interface LocalRegistry extends Watchable {
  readonly getService: (name: string) => readonly Service[]
  readonly listServices: () => readonly Service[]
}

/**
 * Combines two registries. A service in `local` hides all versions of the same name in `remote`,
 * because manual configuration takes precedence. The result is read-only; closing it closes both.
 */
export function createJoinedRegistry(local: LocalRegistry, remote: Watchable): Watchable {
  const isLocal = (name: string): boolean => local.getService(name).length > 0

  return {
    name: remote.name,

    getService(name) {
      const services = local.getService(name)
      return services.length > 0 ? services : remote.getService(name)
    },

    async listServices() {
      const remoteServices = await remote.listServices()
      return [...local.listServices(), ...remoteServices.filter(({ name }) => !isLocal(name))]
    },

    watch(listener, options = {}) {
      const { onOutage, ...scope } = options
      /**
       * Names for which the remote registry is now responsible but whose services could not be
       * read.
       */
      const pending = new Set<string>()
      let stopped = false
      let isOut = false

      /**
       * Emits the versions of the remote registry that appear when a name leaves the local
       * registry, or disappear when it is added.
       */
      async function handOver(name: string): Promise<void> {
        const wasLocal = !isLocal(name)
        pending.delete(name)
        let services: readonly Service[]
        try {
          services = await remote.getService(name)
        } catch {
          if (wasLocal) pending.add(name)
          return
        }
        if (stopped || isLocal(name) === wasLocal) return
        const localVersions = new Set(local.getService(name).map(({ version }) => version))
        for (const service of services) {
          if (wasLocal) listener({ type: 'create', service })
          else if (!localVersions.has(service.version))
            listener({ type: 'delete', service: { ...service, nodes: [] } })
        }
      }

      /** Ends an outage once the pending names have been read. */
      async function recover(): Promise<void> {
        await Promise.all([...pending].map(handOver))
        if (!stopped && !isOut) onOutage?.(undefined)
      }

      const onLocalEvent = (event: RegistryEvent): void => {
        listener(event)
        const { name } = event.service
        const versions = local.getService(name).length
        const hasOwnerChanged = event.type === 'create' ? versions === 1 : versions === 0
        if (hasOwnerChanged) void handOver(name)
      }
      const stopLocal = local.watch(onLocalEvent, scope)
      const stopRemote = remote.watch(
        (event) => {
          if (!isLocal(event.service.name)) listener(event)
        },
        {
          ...scope,
          onOutage(reason) {
            isOut = reason !== undefined
            if (isOut || pending.size === 0) onOutage?.(reason)
            else void recover()
          },
        },
      )
      return () => {
        stopped = true
        stopLocal()
        stopRemote()
      }
    },

    async close() {
      await local.close?.()
      await remote.close?.()
    },
  }
}
