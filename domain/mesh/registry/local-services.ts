import type { Registry, RegistryEvent, Service } from '../../../core/contracts/registry.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'

export interface LocalServicesOptions {
  readonly registry: Registry & Required<Pick<Registry, 'watch'>>
  /** Called with the current versions of a service; empty if it was removed. */
  readonly onChange: (name: string, versions: readonly Service[]) => void
  /** Called when the registry cannot be read. Reading is retried. */
  readonly onError: (error: Error) => void
}

/** Services registered on this server by name, cached from watch events. */
export interface LocalServices {
  /** Starts to watch. Resolves after the first query, whether successful or not. */
  readonly start: () => Promise<void>
  readonly has: (name: string) => boolean
  readonly close: () => void
}

export function createLocalServices(options: LocalServicesOptions): LocalServices {
  const { registry, onChange, onError } = options
  const backOff = createBackOff()
  /** Services by name, then version. */
  const services = new Map<string, Map<string, Service>>()
  /** Events received while a list query is in flight. */
  let events: RegistryEvent[] | undefined
  let stop: () => void = () => {}
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function apply({ type, service }: RegistryEvent): void {
    const { name, version } = service
    const versions = services.get(name) ?? new Map<string, Service>()
    if (type === 'delete') versions.delete(version)
    else versions.set(version, service)
    if (versions.size === 0) services.delete(name)
    else services.set(name, versions)
  }

  function notify(name: string): void {
    onChange(name, [...(services.get(name)?.values() ?? [])])
  }

  async function read(): Promise<void> {
    const later: RegistryEvent[] = []
    events = later
    try {
      const listed = await registry.listServices()
      if (closed) return
      const names = new Set(services.keys())
      services.clear()
      for (const service of listed) apply({ type: 'update', service })
      for (const event of later) apply(event)
      for (const name of services.keys()) names.add(name)
      for (const name of names) notify(name)
    } catch (error) {
      if (closed) return
      onError(error as Error)
      timer = setTimeout(read, backOff.next()).unref()
    } finally {
      events = undefined
    }
  }

  return {
    start() {
      stop = registry.watch((event) => {
        events?.push(event)
        apply(event)
        notify(event.service.name)
      })
      return read()
    },

    has: (name) => services.has(name),

    close() {
      closed = true
      clearTimeout(timer)
      stop()
    },
  }
}
