import type { LookupFunction } from 'node:net'
import type { HeaderList } from '../../http/headers.ts'
import type { UpstreamTls } from '../../upstream/tls.ts'

/** The backend of a proxied WebSocket (RFC 6455). */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Resolves the host name. @default the system resolver */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the system's authorities */
  readonly tls?: UpstreamTls | undefined
  /** Path and query of the opening handshake. */
  readonly target: string
  /** Headers of the opening request, without the handshake headers. */
  readonly headers: HeaderList
  readonly maxMessageBytes: number
  /** Timeout for the connection, including the TLS handshake, in milliseconds. */
  readonly connectTimeoutMs: number
  /** Timeout from sending the handshake to the backend's response, in milliseconds. */
  readonly replyTimeoutMs: number
  /** Called with the backend's response, 101 or other, before it is forwarded to the client. May change its headers. */
  readonly onHandshakeResponse?: (status: number, headers: HeaderList) => void
  /** Called once when an opened tunnel, or the forwarded response, has ended. */
  readonly onClose: () => void
}
