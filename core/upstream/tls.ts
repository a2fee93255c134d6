import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { type ConnectionOptions, createSecureContext, type SecureContext } from 'node:tls'

/** PEM texts and names of {@link UpstreamTls}. */
export interface UpstreamTlsInput {
  /** Trusted authorities, instead of the authorities of the system. */
  readonly ca?: string | undefined
  /** Client certificate with its chain. */
  readonly cert?: string | undefined
  /** Private key of the client certificate. */
  readonly key?: string | undefined
  /** Name for SNI (RFC 6066 §3) and for the verification of the certificate. @default host name of the node */
  readonly serverName?: string | undefined
  /** False: any certificate is accepted. @default true */
  readonly isVerified?: boolean
}

/** TLS settings of the connections to the nodes of a service. */
export interface UpstreamTls {
  /** Equal for equal settings and file contents. */
  readonly id: string
  readonly context: SecureContext
  readonly serverName: string | undefined
  readonly isVerified: boolean
}

/**
 * Creates TLS settings. The context is shared by all connections: its certificates are parsed once.
 *
 * @throws {Error} of OpenSSL for a malformed certificate or key, or a key of another certificate.
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

/** Options of `tls.connect` for a node; without settings, the authorities of the system are trusted. */
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
