/** A node drained by an operator. */
export interface DrainedNode {
  readonly domain: string
  /** Full name of the service. */
  readonly service: string
  readonly id: string
}

/** The drained nodes of a process by id. They remain drained when a service is reloaded. */
export class DrainedNodes {
  #keys: ReadonlySet<string> = new Set()

  has(node: DrainedNode): boolean {
    return this.#keys.size > 0 && this.#keys.has(toNodeKey(node))
  }

  replace(nodes: readonly DrainedNode[]): void {
    this.#keys = new Set(nodes.map(toNodeKey))
  }
}

/** Returns a key that identifies a node. */
export function toNodeKey({ domain, service, id }: DrainedNode): string {
  return JSON.stringify([domain, service, id])
}
