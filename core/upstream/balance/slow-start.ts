import type { UpstreamNode } from '../node/upstream-node.ts'

/** Initial share of requests during a slow start. */
const MIN_SHARE = 0.1

/** Sends an increasing share of requests to new and returning nodes. */
export class SlowStart {
  #durationMs: number
  /** End of the last slow start; 0 if no node is in its slow start. */
  #untilMs = 0

  /** @param durationMs 0 to disable. */
  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  get isActive(): boolean {
    return this.#untilMs !== 0
  }

  begin(nodes: readonly UpstreamNode[], nowMs: number): void {
    if (this.#durationMs === 0 || nodes.length === 0) return
    this.#untilMs = Math.ceil(nowMs + this.#durationMs)
    for (const node of nodes) node.warmUntilMs = this.#untilMs
  }

  /** Changes the duration. Slow starts of `nodes` end within it. */
  configure(durationMs: number, nodes: readonly UpstreamNode[], nowMs: number): void {
    this.#durationMs = durationMs
    const latestMs = Math.ceil(nowMs + durationMs)
    for (const node of nodes) node.warmUntilMs = Math.min(node.warmUntilMs, latestMs)
    this.#untilMs = Math.min(this.#untilMs, latestMs)
  }

  /**
   * Whether `node` keeps a request assigned to it by the balancer.
   *
   * @param randomBits 32 random bits.
   */
  admits(node: UpstreamNode, nowMs: number, randomBits: number): boolean {
    if (nowMs >= this.#untilMs) this.#untilMs = 0
    if (node.warmUntilMs <= nowMs) return true
    const share = 1 - (node.warmUntilMs - nowMs) / this.#durationMs
    return (randomBits >>> 0) / 2 ** 32 < Math.max(share, MIN_SHARE)
  }
}
