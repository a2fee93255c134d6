import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls'

/** PEM texts and names for {@link UpstreamTls}. */
export interface UpstreamTlsInput {
  /** Trusted authorities, which replace the system's. */
  readonly ca?: string | undefined
  /** Client certificate with its chain. */
  readonly cert?: string | undefined
  /** Private key of the client certificate. */
  readonly key?: string | undefined
  /** Name for SNI (RFC 6066 §3) and certificate verification. @default host name of the node */
  readonly serverName?: string | undefined
  /** False to accept any certificate. @default true */
  readonly isVerified?: boolean
}

/** TLS settings of connections to the nodes of a service. */
export interface UpstreamTls {
  /** Identical for equal settings and file contents. */
  readonly id: string
  readonly context: SecureContext
  readonly serverName: string | undefined
  readonly isVerified: boolean
}

/**
 * Creates TLS settings. All connections share the context, so that its certificates are parsed once.
 *
 * @throws {Error} from OpenSSL if the certificate or key is malformed or they do not match.
 */
export function createUpstreamTls(input: UpstreamTlsInput): UpstreamTls {
  const { ca, cert, key, serverName, isVerified = true } = input
  return {
    id: createHash('sha256')
      .update(JSON.stringify([ca, cert, key, serverName, isVerified]))
      .digest('base64url'),
    context: createSecureContext({ ca, cert, key }),
    serverName,
    isVerified,
  }
}

/** Returns the options of `tls.connect` for a node. Without settings, the system's authorities are trusted. */
export function toTlsOptions(
  tls: UpstreamTls | undefined,
  host: string,
): Pick<ConnectionOptions, 'servername' | 'secureContext' | 'rejectUnauthorized'> {
  const servername = tls?.serverName ?? (isIP(host) === 0 ? host : undefined)
  return {
    ...(servername !== undefined && { servername }),
    ...(tls && { secureContext: tls.context, rejectUnauthorized: tls.isVerified }),
  }
}
