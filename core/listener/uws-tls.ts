import { TLS_CIPHERS, type TlsPair, type TlsSource, withTlsFiles } from './tls.ts'
import type { App, Uws } from './uws-types.d.ts'

/** Sets up what an app serves: its filter, and the routes of one of its routers. */
export interface AppSetup {
  /** @param count told of every connection of this app that begins (1) or ends (-1). */
  readonly filter: (app: App, count: (change: number) => void) => void
  readonly route: (router: App, count: (change: number) => void) => void
}

/** An app whose certificates are always those of a {@link TlsSource}. */
export interface TlsApp {
  /** To listen with. */
  readonly app: App
  /** Lets go of the source, and ends all connections. */
  readonly close: () => void
}

/**
 * The library can replace neither the default certificate of an app nor, while connections that
 * chose it go on, one chosen by name: its router would be freed under them. So one app without a
 * certificate accepts the connections and hands them to another that has them all; new
 * certificates make a new app, and the old one goes on with the connections it has.
 *
 * The library keeps every app until the process ends, some tens of KiB each: closing a replaced
 * one would free nothing, and end its connections.
 *
 * Where certificates are chosen by name, the library writes two lines a name to stdout.
 */
export function createTlsApp(uws: Uws, tls: TlsSource, setup: AppSetup): TlsApp {
  const acceptor = uws.SSLApp({})
  /** Connections of every app that has some, and of the one that gets new ones. */
  const connections = new Map<App, number>()
  let serving: App | undefined

  const use = (pairs: readonly TlsPair[]): void => {
    const before = serving
    const app = createPairedApp(uws, pairs)
    const count = (change: number): void => {
      const now = (connections.get(app) ?? 0) + change
      if (now === 0 && app !== serving) connections.delete(app)
      else connections.set(app, now)
    }
    setup.filter(app, count)
    setup.route(app, count)
    if (pairs.length > 1) addNames(app, pairs, (router) => setup.route(router, count))
    acceptor.addChildAppDescriptor(app.getDescriptor())
    if (before !== undefined) {
      acceptor.removeChildAppDescriptor(before.getDescriptor())
      if (connections.get(before) === 0) connections.delete(before)
    }
    connections.set(app, 0)
    serving = app
  }

  use(tls.pairs)
  const release = tls.onChange(use)
  return {
    app: acceptor,
    close() {
      release()
      acceptor.close()
      for (const app of connections.keys()) app.close()
    },
  }
}

function createPairedApp(uws: Uws, pairs: readonly TlsPair[]): App {
  return withTlsFiles(pairs[0]!, ({ certFile, keyFile }) =>
    uws.SSLApp({ cert_file_name: certFile, key_file_name: keyFile, ssl_ciphers: TLS_CIPHERS }),
  )
}

/** Certificates by name, the first pair's names too: another's wildcard must not win over them. */
function addNames(app: App, pairs: readonly TlsPair[], route: (router: App) => void): void {
  const added = new Set<string>()
  for (const pair of pairs) {
    withTlsFiles(pair, ({ certFile, keyFile }) => {
      for (const name of pair.names) {
        if (added.has(name)) continue
        added.add(name)
        app.addServerName(name, {
          cert_file_name: certFile,
          key_file_name: keyFile,
          ssl_ciphers: TLS_CIPHERS,
        })
        route(app.domain(name))
      }
    })
  }
}
