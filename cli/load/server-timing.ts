const METRIC = /(?:^|,)\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)((?:\s*;[^,]*)?)/g
const DURATION = /;\s*dur\s*=\s*"?(\d+(?:\.\d+)?)/i

/** Duration of a request in milliseconds, as reported by the gateway. */
export interface ServerTiming {
  /** Time spent in the gateway itself. */
  readonly gatewayMs: number
  /** Time spent waiting for the backend. */
  readonly upstreamMs: number
}

/**
 * Parses `gateway;dur=…, upstream;dur=…` (W3C Server Timing). Returns undefined without `gateway`; `upstream` is 0
 * without a backend call.
 */
export function parseServerTiming(value: string): ServerTiming | undefined {
  let gatewayMs: number | undefined
  let upstreamMs = 0
  for (const [, name, parameters] of value.matchAll(METRIC)) {
    const duration = Number(DURATION.exec(parameters ?? '')?.[1])
    if (Number.isNaN(duration)) continue
    if (name === 'gateway') gatewayMs = duration
    else if (name === 'upstream') upstreamMs = duration
  }
  return gatewayMs === undefined ? undefined : { gatewayMs, upstreamMs }
}
