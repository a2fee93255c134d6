const METRIC = /(?:^|,)\s*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)((?:\s*;[^,]*)?)/g
const DURATION = /;\s*dur\s*=\s*"?(\d+(?:\.\d+)?)/i

/** Time of a request as reported by the gateway, in milliseconds. */
export interface ServerTiming {
  /** In the gateway itself. */
  readonly gatewayMs: number
  /** Waiting for the backend. */
  readonly upstreamMs: number
}

/** Parses `gateway;dur=…, upstream;dur=…` (W3C Server Timing); undefined without `gateway`. Without a backend call, upstream is 0. */
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
