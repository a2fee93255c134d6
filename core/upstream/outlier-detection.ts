import { HEALTHY, type UpstreamNode } from './node-health.ts'

/** When a failing node is ejected, and for how long. */
export interface EjectionOptions {
  /** Consecutive failures that eject a node; a refused connection ejects it at once. 0: never. @default 5 */
  readonly failuresInRow?: number
  /** Count responses 502, 503 and 504 as failures, including responses of the application. @default false */
  readonly countsStatus?: boolean
  /** Milliseconds of the first ejection; doubled after each failed trial. @default 10000 */
  readonly baseMs?: number
  /** Longest ejection, milliseconds. @default 300000 */
  readonly maxMs?: number
}

/**
 * Ejects the failing nodes of a service (passive health checking), at most half of them.
 *
 * After its ejection time a node gets a single trial request. On success it returns, otherwise the ejection time
 * doubles. No timers: `pick` compares the clock, and only while a node is ejected.
 */
export class OutlierDetector {
  /** Nodes that are not ejected. */
  usable: readonly UpstreamNode[] = []
  /** When the next ejected node may be tried; Infinity if none is ejected. */
  nextTrialMs: number = Number.POSITIVE_INFINITY
  /** All nodes, the ejected ones included. */
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

  /** Replaces the list of nodes. If too many are ejected now, the nodes closest to their return are readmitted. */
  update(nodes: readonly UpstreamNode[]): void {
    this.nodes = nodes
    const ejected = nodes
      .filter((node) => node.ejectedUntilMs !== 0)
      .sort((a, b) => a.ejectedUntilMs - b.ejectedUntilMs)
    for (const node of ejected.slice(0, Math.max(0, ejected.length - this.#maxEjected())))
      this.#readmit(node)
    this.#refresh()
  }

  /** Returns the ejected node that is due for a trial, if any. */
  takeTrial(nowMs: number, tried: UpstreamNode | undefined): UpstreamNode | undefined {
    if (nowMs < this.nextTrialMs) return undefined
    for (const node of this.nodes) {
      if (node.ejectedUntilMs === 0 || node.ejectedUntilMs > nowMs || node === tried) continue
      // If the result of the trial is never reported, the next one follows after the same time.
      const ejectedUntilMs = nowMs + this.#downForMs(Math.max(0, node.ejections - 1))
      node.record = { ...node.record, onTrial: true, ejectedUntilMs }
      this.#refresh()
      return node
    }
    return undefined
  }

  /** @returns true if the usable nodes changed. */
  succeeded(node: UpstreamNode): boolean {
    const { record } = node
    if (record.ejectedUntilMs === 0) {
      node.record = HEALTHY
      return false
    }
    // A request sent before the ejection says nothing about new ones.
    if (!record.onTrial) {
      node.record = { ...record, failuresInRow: 0 }
      return false
    }
    this.#readmit(node)
    this.#refresh()
    return true
  }

  /** @returns true if the usable nodes changed. */
  failed(node: UpstreamNode, kind: 'connect' | 'gateway', nowMs: number): boolean {
    const { record } = node
    if (record.ejectedUntilMs !== 0) {
      if (record.onTrial) this.#eject(node, nowMs)
      return false
    }
    node.record = { ...record, failuresInRow: record.failuresInRow + 1 }
    if (this.#failuresInRow === 0) return false
    if (kind !== 'connect' && node.failuresInRow < this.#failuresInRow) return false
    // A node of an older list: its last requests are ending.
    if (!this.usable.includes(node)) return false
    if (this.nodes.length - this.usable.length >= this.#maxEjected()) return false
    this.#eject(node, nowMs)
    return true
  }

  #maxEjected(): number {
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
    const isEjected = this.nodes.some((node) => node.ejectedUntilMs !== 0)
    // Mostly the same array: a copy per service would take memory.
    this.usable = isEjected ? this.nodes.filter((node) => node.ejectedUntilMs === 0) : this.nodes
    this.nextTrialMs = Number.POSITIVE_INFINITY
    for (const { ejectedUntilMs } of this.nodes) {
      if (ejectedUntilMs !== 0) this.nextTrialMs = Math.min(this.nextTrialMs, ejectedUntilMs)
    }
  }
}
