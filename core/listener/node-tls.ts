import type { Server as PlainServer, ServerOptions } from 'node:http'
import { createServer } from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import { findTlsPair, TLS_CIPHERS, type TlsPair, type TlsSource } from './tls.ts'

/** How long a client may take for the handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000
const CONTEXT_OPTIONS = {
  ciphers: TLS_CIPHERS,
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
} as const

/** A node:https server whose certificates are always those of a {@link TlsSource}. */
export interface TlsServer {
  readonly server: PlainServer
  /** Lets go of the source. */
  readonly release: () => void
}

export function createTlsServer(options: ServerOptions, tls: TlsSource): TlsServer {
  let { pairs } = tls
  let contexts = toContexts(pairs)
  const server = createServer({
    ...options,
    cert: pairs[0]!.cert,
    key: pairs[0]!.key,
    ...CONTEXT_OPTIONS,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    SNICallback: (serverName, done) => done(null, contexts.get(findTlsPair(pairs, serverName))),
  })
  const release = tls.onChange((changed) => {
    // Built before anything is replaced: what cannot be built leaves all as it was.
    const { cert, key } = changed[0]!
    contexts = toContexts(changed)
    pairs = changed
    server.setSecureContext({ cert, key, ...CONTEXT_OPTIONS })
  })
  return { server, release }
}

function toContexts(pairs: readonly TlsPair[]): Map<TlsPair, SecureContext> {
  return new Map(
    pairs.map((pair) => {
      const { cert, key } = pair
      return [pair, createSecureContext({ cert, key, ...CONTEXT_OPTIONS })]
    }),
  )
}
