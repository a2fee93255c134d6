import type { LookupFunction } from 'node:net'
import type { HeaderList } from '../../http/headers.ts'
import type { UpstreamTls } from '../../upstream/tls.ts'

/** The backend of a proxied WebSocket (RFC 6455). */
export interface TunnelTarget {
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Resolves the host name. @default the resolver of the system */
  readonly lookup?: LookupFunction | undefined
  /** @default verified by the authorities of the system */
  readonly tls?: UpstreamTls | undefined
  /** Path and query of the opening handshake. */
  readonly target: string
  /** Headers of the opening request, without the handshake headers. */
  readonly headers: HeaderList
  readonly maxMessageBytes: number
  /** Milliseconds for the connection, TLS handshake included. */
  readonly connectTimeoutMs: number
  /** Milliseconds from the handshake sent to the backend's response. */
  readonly replyTimeoutMs: number
  /** Called with the backend's response, 101 or any other, before it goes to the client; may change its headers. */
  readonly onHandshakeResponse?: (status: number, headers: HeaderList) => void
  /** Called once when an opened tunnel, or the forwarded response, has ended. */
  readonly onClose: () => void
}
