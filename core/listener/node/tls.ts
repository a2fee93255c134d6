import { constants } from 'node:crypto'
import type { Server as PlainServer, ServerOptions } from 'node:http'
import { createServer } from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { ClientCa } from '../tls/client-ca.ts'
import {
  type Certificate,
  findTlsPair,
  indexTlsPairs,
  TLS_CIPHERS,
  type TlsSource,
} from '../tls/tls.ts'

/** Time limit for the handshake. */
const HANDSHAKE_TIMEOUT_MS = 10_000
const CONTEXT_OPTIONS = {
  ciphers: TLS_CIPHERS,
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
} as const

/** A node:https server that uses the current certificates of a {@link TlsSource}. */
export interface TlsServer {
  readonly server: PlainServer
  /** Unsubscribes from the source. */
  readonly release: () => void
}

/**
 * @param http2 whether to offer HTTP/2 before HTTP/1.1 (ALPN, RFC 7301).
 * @param clientCa authorities of the client certificates to request.
 */
export function createTlsServer(
  options: ServerOptions,
  tls: TlsSource,
  http2: boolean,
  clientCa?: ClientCa,
): TlsServer {
  let contexts = toContexts(tls.pairs, new Map(), clientCa)
  let index = indexTlsPairs(tls.pairs)
  const find = (serverName: string): SecureContext | undefined => {
    const pair = findTlsPair(index, serverName)
    return pair && contexts.get(pair)
  }
  const server = createServer({
    ...options,
    ...toDefault(tls, tls.pairs, clientCa),
    requestCert: clientCa !== undefined,
    rejectUnauthorized: clientCa?.isOptional === false,
    ALPNProtocols: http2 ? ['h2', 'http/1.1'] : ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    SNICallback(serverName, done) {
      const context = find(serverName)
      // If the context is undefined, the default is used, if any.
      if (context !== undefined || tls.request === undefined) done(null, context)
      else void tls.request(serverName).finally(() => done(null, find(serverName)))
    },
  })
  const use = (pairs: readonly Certificate[], before: typeof contexts): void => {
    // Created before anything is replaced, so that a failure changes nothing.
    contexts = toContexts(pairs, before, clientCa)
    index = indexTlsPairs(pairs)
    server.setSecureContext(toDefault(tls, pairs, clientCa))
  }
  const releases = [
    tls.onChange((changed) => use(changed, contexts)),
    clientCa?.onChange(() => use(tls.pairs, new Map())),
  ]
  const release = (): void => {
    for (const each of releases) each?.()
  }
  return { server, release }
}

/** Default certificate for handshakes with an unknown name or without a name. */
function toDefault(
  { isStrict = false }: TlsSource,
  pairs: readonly Certificate[],
  clientCa: ClientCa | undefined,
) {
  const [pair] = isStrict ? [] : pairs
  return { ...(pair && { cert: pair.cert, key: pair.key }), ...toOptions(clientCa) }
}

/**
 * Each certificate has its own list of authorities; by default the library trusts its built-in ones. Sessions with
 * client certificates are not resumed: resumption would accept an expired client certificate, and without its chain
 * (RFC 8446 §4.6.1). Session ids are never stored.
 */
function toOptions(clientCa: ClientCa | undefined) {
  if (clientCa === undefined) return CONTEXT_OPTIONS
  return { ...CONTEXT_OPTIONS, ca: clientCa.pem, secureOptions: constants.SSL_OP_NO_TICKET }
}

function toContexts(
  pairs: readonly Certificate[],
  before: ReadonlyMap<Certificate, SecureContext>,
  clientCa: ClientCa | undefined,
): Map<Certificate, SecureContext> {
  return new Map(
    pairs.map((pair) => {
      const { cert, key } = pair
      return [pair, before.get(pair) ?? createSecureContext({ cert, key, ...toOptions(clientCa) })]
    }),
  )
}
