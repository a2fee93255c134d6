import { DEFAULT_NAMESPACE } from '../../sdk/namespace.ts'
import type { Session } from './session.ts'

/** Request rate of a service in the last minute (`Api.Services`). */
export interface Rate {
  readonly service: string
  readonly requests_per_second: number
  /** Error share from 0 to 1. */
  readonly error_share?: number
  readonly p50_ms?: number
  readonly p99_ms?: number
}

const TIMEOUT_MS = 2000

/** Request rates by service; empty if the server denies access, for example to accounts of other namespaces. */
export async function readRates({ call, namespace }: Session): Promise<ReadonlyMap<string, Rate>> {
  const options = { namespace: DEFAULT_NAMESPACE, timeoutMs: TIMEOUT_MS }
  const none: { readonly services?: readonly Rate[] } = {}
  const { services = [] } = await call<typeof none>('api', 'Api.Services', {}, options).catch(
    () => none,
  )
  const prefix = namespace === DEFAULT_NAMESPACE ? '' : `${namespace}/`
  return new Map(
    services
      .filter(({ service }) => service.startsWith(prefix))
      .map((rate) => [rate.service.slice(prefix.length), rate]),
  )
}

export function formatShare(share: number): string {
  return `${(share * 100).toFixed(1)}%`
}

export function formatLatency(ms: number): string {
  return `${ms.toFixed(1)}ms`
}
