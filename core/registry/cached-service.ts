import type { Service } from '../contracts/registry.ts'
import { Upstream } from '../upstream/upstream.ts'
import type { UpstreamOptions } from '../upstream/upstream-options.ts'
import { addNodes, findMissing, type VersionNode } from './merge-versions.ts'
import { StaleNodes } from './stale-nodes.ts'

export interface CachedServiceOptions {
  readonly name: string
  readonly upstream: UpstreamOptions
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number
  /** Called when a retained node was dropped because it refused a connection; the upstream must be updated. */
  readonly onNodeDropped: () => void
}

/** A cached service: the last state from the registry, and nodes retained during an outage. */
export class Entry {
  readonly upstream: Upstream
  /** Time of the last use. */
  usedMs: number
  /** All versions as last received. */
  services: readonly Service[] = []
  /** Retained nodes, by id. */
  readonly #retained: StaleNodes<VersionNode>

  constructor({ name, upstream, nowMs, onNodeDropped }: CachedServiceOptions) {
    const retained = new StaleNodes<VersionNode>(nowMs)
    this.#retained = retained
    this.usedMs = nowMs()
    this.upstream = new Upstream(name, {
      ...upstream,
      onConnectionRefused({ id }) {
        if (!retained.release(id)) return false
        onNodeDropped()
        return true
      },
    })
  }

  /**
   * Applies the state from the registry.
   *
   * @param isOutage whether the registry may be incomplete after an outage; missing nodes are then retained.
   */
  take(services: readonly Service[], isOutage: boolean): void {
    for (const { nodes } of services) for (const { id } of nodes) this.#retained.release(id)
    if (isOutage)
      for (const missing of findMissing(this.services, services))
        this.#retained.add(missing.node.id, missing)
    this.services = services
  }

  /** Drops expired nodes. @returns true if there were any. */
  expire(): boolean {
    return this.#retained.expire().length > 0
  }

  /** Drops the retained nodes. @returns true if there were any. */
  settle(): boolean {
    const isChanged = this.#retained.size > 0
    this.#retained.releaseAll()
    return isChanged
  }

  /** Updates the upstream. @returns false if no version is left. */
  use(): boolean {
    const all =
      this.#retained.size === 0 ? this.services : addNodes(this.services, this.#retained.items)
    if (all.length > 0) this.upstream.update(all)
    return all.length > 0
  }
}
