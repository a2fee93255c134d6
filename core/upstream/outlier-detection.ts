import { HEALTHY, type UpstreamNode } from './node-health.ts'

/** When a node that fails is left out, and for how long. */
export interface EjectionOptions {
  /** Failures in a row that eject a node; a refused connection does at once. 0: nothing ejects a node. @default 5 */
  readonly failuresInRow?: number
  /** Whether responses 502, 503 and 504 are failures, also when the application chose the status. @default false */
  readonly countsStatus?: boolean
  /** Milliseconds a node stays away the first time; doubled each time it fails its trial. @default 10000 */
  readonly baseMs?: number
  /** Longest time away, milliseconds. @default 300000 */
  readonly maxMs?: number
}

/**
 * Leaves out the nodes of a service that fail (passive ejection), never more than half of them.
 *
 * Life of an ejected node: it stays away until its time is up; then a single
 * request is sent to it. If that succeeds the node takes part again, else it
 * stays away twice as long. There are no timers: whoever picks looks at the clock,
 * and only while some node is ejected.
 */
export class OutlierDetector {
  /** The nodes that take part. */
  usable: readonly UpstreamNode[] = []
  /** When the next ejected node may be tried; Infinity while none is ejected. */
  nextTrialMs: number = Number.POSITIVE_INFINITY
  /** Those, and the ones that are away. */
  nodes: readonly UpstreamNode[] = []
  readonly #failuresInRow: number
  readonly #baseMs: number
  readonly #maxMs: number
  readonly #onEject: ((node: UpstreamNode, forMs: number) => void) | undefined
  readonly #onReturn: ((node: UpstreamNode) => void) | undefined

  constructor(
    { failuresInRow = 5, baseMs = 10_000, maxMs = 300_000 }: EjectionOptions = {},
    onEject?: (node: UpstreamNode, forMs: number) => void,
    onReturn?: (node: UpstreamNode) => void,
  ) {
    this.#failuresInRow = failuresInRow
    this.#baseMs = baseMs
    this.#maxMs = maxMs
    this.#onEject = onEject
    this.#onReturn = onReturn
  }

  /** Another list of nodes. Where the half that may be away has become smaller, those closest to their return take part again. */
  update(nodes: readonly UpstreamNode[]): void {
    this.nodes = nodes
    const away = nodes
      .filter((node) => node.ejectedUntilMs !== 0)
      .sort((a, b) => a.ejectedUntilMs - b.ejectedUntilMs)
    for (const node of away.slice(0, Math.max(0, away.length - this.#maxAway())))
      this.#readmit(node)
    this.#refresh()
  }

  /** The node whose turn has come to be tried, or undefined. */
  takeTrial(nowMs: number, tried: UpstreamNode | undefined): UpstreamNode | undefined {
    if (nowMs < this.nextTrialMs) return undefined
    for (const node of this.nodes) {
      if (node.ejectedUntilMs === 0 || node.ejectedUntilMs > nowMs || node === tried) continue
      // Should nobody report how the trial went, there is another one after the same time.
      const ejectedUntilMs = nowMs + this.#downForMs(Math.max(0, node.ejections - 1))
      node.record = { ...node.record, onTrial: true, ejectedUntilMs }
      this.#refresh()
      return node
    }
    return undefined
  }

  /** @returns whether the usable nodes changed. */
  succeeded(node: UpstreamNode): boolean {
    const { record } = node
    if (record.ejectedUntilMs === 0) {
      node.record = HEALTHY
      return false
    }
    // A reply that was under way before the ejection says nothing about new requests.
    if (!record.onTrial) {
      node.record = { ...record, failuresInRow: 0 }
      return false
    }
    this.#readmit(node)
    this.#refresh()
    return true
  }

  /** @returns whether the usable nodes changed. */
  failed(node: UpstreamNode, kind: 'connect' | 'gateway', nowMs: number): boolean {
    const { record } = node
    if (record.ejectedUntilMs !== 0) {
      if (record.onTrial) this.#eject(node, nowMs)
      return false
    }
    node.record = { ...record, failuresInRow: record.failuresInRow + 1 }
    if (this.#failuresInRow === 0) return false
    if (kind !== 'connect' && node.failuresInRow < this.#failuresInRow) return false
    // A node of an older list: its last requests are still ending.
    if (!this.usable.includes(node)) return false
    if (this.nodes.length - this.usable.length >= this.#maxAway()) return false
    this.#eject(node, nowMs)
    return true
  }

  #maxAway(): number {
    return Math.floor(this.nodes.length / 2)
  }

  #downForMs(ejections: number): number {
    return Math.min(this.#maxMs, this.#baseMs * 2 ** Math.min(ejections, 30))
  }

  #eject(node: UpstreamNode, nowMs: number): void {
    const { failuresInRow, ejections } = node.record
    const forMs = this.#downForMs(ejections)
    node.record = {
      failuresInRow,
      ejections: ejections + 1,
      ejectedUntilMs: nowMs + forMs,
      onTrial: false,
    }
    this.#refresh()
    this.#onEject?.(node, forMs)
  }

  #readmit(node: UpstreamNode): void {
    node.record = HEALTHY
    this.#onReturn?.(node)
  }

  #refresh(): void {
    const isAway = this.nodes.some((node) => node.ejectedUntilMs !== 0)
    // Mostly the same list: another one for each of many services takes memory.
    this.usable = isAway ? this.nodes.filter((node) => node.ejectedUntilMs === 0) : this.nodes
    this.nextTrialMs = Number.POSITIVE_INFINITY
    for (const { ejectedUntilMs } of this.nodes) {
      if (ejectedUntilMs !== 0) this.nextTrialMs = Math.min(this.nextTrialMs, ejectedUntilMs)
    }
  }
}
