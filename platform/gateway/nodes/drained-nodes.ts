/** A node that an operator drained. */
export interface DrainedNode {
  readonly domain: string
  /** Full name. */
  readonly service: string
  readonly id: string
}

/** The drained nodes of a process, by id: they stay drained when a service is loaded again. */
export class DrainedNodes {
  #keys: ReadonlySet<string> = new Set()

  has(node: DrainedNode): boolean {
    return this.#keys.size > 0 && this.#keys.has(toNodeKey(node))
  }

  replace(nodes: readonly DrainedNode[]): void {
    this.#keys = new Set(nodes.map(toNodeKey))
  }
}

/** Identifies a node. */
export function toNodeKey({ domain, service, id }: DrainedNode): string {
  return JSON.stringify([domain, service, id])
}
