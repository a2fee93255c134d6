import type { LookupFunction } from 'node:net'
import type { UpstreamTls } from '../tls.ts'
import type { NodeSettings } from './parse-node.ts'

/** Address and settings of a connection pool. */
export interface PoolAddress extends Pick<NodeSettings, 'host' | 'port' | 'secure' | 'pipeline'> {
  /** DNS lookup. @default the system resolver */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the system's authorities */
  readonly tls?: UpstreamTls | undefined
  /** Minimum idle timeout of connections in milliseconds. @default `keep_alive` of the service */
  readonly minKeepAliveMs?: number
}
