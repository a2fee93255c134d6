import type { Service } from '../contracts/registry.ts'
import { Upstream, type UpstreamOptions } from '../upstream/upstream.ts'
import { addNodes, findMissing, type VersionNode } from './merge-versions.ts'
import { StaleNodes } from './stale-nodes.ts'

export interface EntryOptions {
  readonly name: string
  readonly upstream: UpstreamOptions
  /** Milliseconds that only grow. */
  readonly nowMs: () => number
  /** A node that was held takes no connection, and is held no more: what is left is to be used. */
  readonly onRefuse: () => void
}

/** A service in use: what the registry told last, and what is held besides. */
export class Entry {
  readonly upstream: Upstream
  /** When it was asked for last. */
  usedMs: number
  /** All versions, as the registry told them last. */
  told: readonly Service[] = []
  /** Used besides, by id. */
  readonly #held: StaleNodes<VersionNode>

  constructor({ name, upstream, nowMs, onRefuse }: EntryOptions) {
    const held = new StaleNodes<VersionNode>(nowMs)
    this.#held = held
    this.usedMs = nowMs()
    this.upstream = new Upstream(name, {
      ...upstream,
      onRefuse({ id }) {
        if (!held.release(id)) return false
        onRefuse()
        return true
      },
    })
  }

  /**
   * Takes over what the registry says.
   *
   * @param isAway whether it may know less than there is: what it names no more is held.
   */
  take(told: readonly Service[], isAway: boolean): void {
    for (const { nodes } of told) for (const { id } of nodes) this.#held.release(id)
    if (isAway)
      for (const missing of findMissing(this.told, told)) this.#held.add(missing.node.id, missing)
    this.told = told
  }

  /** Lets go of what was held long enough. @returns whether there was any. */
  expire(): boolean {
    return this.#held.expire().length > 0
  }

  /** Holds nothing any more. @returns whether it held anything. */
  settle(): boolean {
    const isChanged = this.#held.size > 0
    this.#held.releaseAll()
    return isChanged
  }

  /** Gives the upstream the nodes there are. @returns false: there is no version left. */
  use(): boolean {
    const services = this.#held.size === 0 ? this.told : addNodes(this.told, this.#held.items)
    if (services.length > 0) this.upstream.update(services)
    return services.length > 0
  }
}
