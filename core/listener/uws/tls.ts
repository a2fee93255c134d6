import { type Certificate, TLS_CIPHERS, type TlsSource, withTlsFiles } from '../tls/tls.ts'
import type { App, Uws } from './uws-types.d.ts'

/** Registers the filter of an app, and the routes of one of its routers. */
export interface AppSetup {
  /** @param count called for every connection of this app that starts (1) or ends (-1). */
  readonly filter: (app: App, count: (change: number) => void) => void
  readonly route: (router: App, count: (change: number) => void) => void
}

/** An app that uses the current certificates of a {@link TlsSource}. */
export interface TlsApp {
  /** The app that listens. */
  readonly app: App
  /** Unsubscribes from the source and ends all connections. */
  readonly close: () => void
}

/** An app with certificates. */
interface Serving {
  readonly app: App
  pairs: readonly Certificate[]
  /** Names by which certificates can be selected. */
  readonly names: Set<string>
  readonly count: (change: number) => void
  connections: number
}

/**
 * The library cannot replace the default certificate of an app. It cannot replace a certificate selected by name either
 * while it has connections, because their router would be freed. Therefore an app without a certificate accepts the
 * connections and passes them to another app that has all certificates. New certificates are added to that app; changed
 * certificates create a new app, and the old one serves its remaining connections.
 *
 * The library retains every app until the process ends, some tens of KiB each. Closing a replaced app would free
 * nothing and end its connections. Its names are freed with its last connection.
 *
 * For certificates selected by name, the library writes two lines per name to stdout.
 */
export function createTlsApp(uws: Uws, tls: TlsSource, setup: AppSetup): TlsApp {
  const acceptor = uws.SSLApp({})
  /** Apps with connections, and the app that receives new connections. */
  const all = new Set<Serving>()
  let serving: Serving | undefined

  function retire(old: Serving): void {
    if (old === serving || old.connections > 0) return
    all.delete(old)
    // The library still uses the connection that has just ended.
    setImmediate(() => {
      for (const name of old.names) old.app.removeServerName(name)
    })
  }

  function start(pairs: readonly Certificate[]): Serving {
    const app = createDefaultApp(uws, tls.isStrict ? undefined : pairs[0])
    const started: Serving = {
      app,
      pairs,
      names: new Set(),
      count(change) {
        started.connections += change
        retire(started)
      },
      connections: 0,
    }
    setup.filter(app, started.count)
    setup.route(app, started.count)
    // Not awaited because the library cannot wait.
    app.missingServerName((name) => void tls.request?.(name))
    return started
  }

  function use(pairs: readonly Certificate[]): void {
    const before = serving
    const isExtended = before !== undefined && hasAll(pairs, before.pairs, tls.isStrict)
    const next = isExtended ? before : start(pairs)
    if (tls.isStrict || pairs.length > 1) addNames(next, pairs, setup)
    next.pairs = pairs
    if (isExtended) return
    acceptor.addChildAppDescriptor(next.app.getDescriptor())
    serving = next
    all.add(next)
    if (before === undefined) return
    acceptor.removeChildAppDescriptor(before.app.getDescriptor())
    retire(before)
  }

  use(tls.pairs)
  const release = tls.onChange(use)
  return {
    app: acceptor,
    close() {
      release()
      acceptor.close()
      for (const { app } of all) app.close()
    },
  }
}

/** Whether all previous certificates are included, with the same default, if any. */
function hasAll(
  pairs: readonly Certificate[],
  before: readonly Certificate[],
  isStrict = false,
): boolean {
  if (!isStrict && pairs[0] !== before[0]) return false
  const now = new Set(pairs)
  return before.every((pair) => now.has(pair))
}

function createDefaultApp(uws: Uws, pair: Certificate | undefined): App {
  if (pair === undefined) return uws.SSLApp({})
  return withTlsFiles(pair, ({ certFile, keyFile }) =>
    uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: TLS_CIPHERS }),
  )
}

/**
 * Returns the certificates by name, including the names of the first pair, which a wildcard of another pair must not
 * override.
 */
function addNames(
  { app, names, count }: Serving,
  pairs: readonly Certificate[],
  setup: AppSetup,
): void {
  for (const pair of pairs) {
    const added = pair.names.filter((name) => !names.has(name))
    if (added.length === 0) continue
    withTlsFiles(pair, ({ certFile, keyFile }) => {
      for (const name of added) {
        names.add(name)
        app.addServerName(name, {
          cert_file_name: certFile,
          key_file_name: keyFile,
          ssl_ciphers: TLS_CIPHERS,
        })
        setup.route(app.domain(name), count)
      }
    })
  }
}
