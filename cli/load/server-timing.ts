const METRIC = /(?:^|,)\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)((?:\s*;[^,]*)?)/g
const DURATION = /;\s*dur\s*=\s*"?(\d+(?:\.\d+)?)/i

/** Milliseconds a gateway says a request spent. */
export interface ServerTiming {
  /** In the gateway itself. */
  readonly gatewayMs: number
  /** Waiting for the backend. */
  readonly upstreamMs: number
}

/** Reads `gateway;dur=…, upstream;dur=…` (W3C Server Timing); undefined when `gateway` is not named. A missing upstream counts as 0: the gateway answered itself. */
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
