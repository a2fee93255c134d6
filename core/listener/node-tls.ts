import type { Server as PlainServer, ServerOptions } from 'node:http'
import { createServer } from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import { findTlsPair, indexTlsPairs, TLS_CIPHERS, type TlsPair, type TlsSource } from './tls.ts'

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

/** @param http2 whether clients are offered it, before HTTP/1.1 (RFC 7301). */
export function createTlsServer(options: ServerOptions, tls: TlsSource, http2: boolean): TlsServer {
  let contexts = toContexts(tls.pairs, new Map())
  let index = indexTlsPairs(tls.pairs)
  const find = (serverName: string): SecureContext | undefined => {
    const pair = findTlsPair(index, serverName)
    return pair && contexts.get(pair)
  }
  const server = createServer({
    ...options,
    ...toDefault(tls, tls.pairs),
    ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    SNICallback(serverName, done) {
      const context = find(serverName)
      // Without one, the default serves, if there is any.
      if (context !== undefined || tls.request === undefined) done(null, context)
      else void tls.request(serverName).finally(() => done(null, find(serverName)))
    },
  })
  const release = tls.onChange((changed) => {
    // Built before anything is replaced: what cannot be built leaves all as it was.
    contexts = toContexts(changed, contexts)
    index = indexTlsPairs(changed)
    server.setSecureContext(toDefault(tls, changed))
  })
  return { server, release }
}

/** For handshakes without a name, or for an unknown one. */
function toDefault({ isStrict = false }: TlsSource, pairs: readonly TlsPair[]) {
  const [pair] = isStrict ? [] : pairs
  return { ...(pair && { cert: pair.cert, key: pair.key }), ...CONTEXT_OPTIONS }
}

function toContexts(
  pairs: readonly TlsPair[],
  before: ReadonlyMap<TlsPair, SecureContext>,
): Map<TlsPair, SecureContext> {
  return new Map(
    pairs.map((pair) => {
      const { cert, key } = pair
      return [pair, before.get(pair) ?? createSecureContext({ cert, key, ...CONTEXT_OPTIONS })]
    }),
  )
}
