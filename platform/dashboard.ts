import { createHash } from 'node:crypto'
import { type Chain, compileChain, type Plugin } from '../core/chain.ts'
import { GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { Gateway } from '../core/gateway.ts'
import { toHostName } from '../core/host-name.ts'
import type { CreateListener, Listener } from '../core/listener/listener.ts'
import type { Log } from './log.ts'
import type { Address } from './settings-values.ts'

export interface DashboardOptions {
  readonly address: Address
  readonly createListener: CreateListener
  readonly version: string
  /** Where the gateway is, seen from a browser at `hostname`. */
  readonly toGatewayUrl: (hostname: string) => string
  /** What keeps strangers out. */
  readonly guards: readonly Plugin[]
  readonly log: Log
}

/** The open port of the dashboard. */
export interface Dashboard {
  readonly port: number
  /** Keeps strangers out by these from now on. */
  readonly use: (guards: readonly Plugin[]) => void
  /** Takes no more connections, and lets those who are served go. */
  readonly drain: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Id of its errors. */
const ID = 'dashboard'
const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}code{font-size:.9em}'
const HEADERS = [
  'content-type',
  'text/html; charset=utf-8',
  'cache-control',
  'no-store',
  'content-security-policy',
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options',
  'nosniff',
  'x-frame-options',
  'DENY',
  'referrer-policy',
  'no-referrer',
  'cross-origin-opener-policy',
  'same-origin',
  'cross-origin-resource-policy',
  'same-origin',
]
const ALLOW = ['allow', 'GET, HEAD']
/** What may stand in a page and a URL as it is. */
const HOST_NAME = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])$/

/**
 * Opens the port of the dashboard: a page that says what runs here and where it is reached.
 *
 * @throws {Error} with one clear line when the port is in use or may not be opened.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { address, createListener, version, toGatewayUrl, guards, log } = options
  const serve = (x: Exchange): void => {
    if (x.path !== '/') throw new GatewayError(ID, 404, 'the dashboard has one page, at /')
    if (x.method !== 'GET' && x.method !== 'HEAD')
      throw new GatewayError(ID, 405, `this page takes GET, got ${x.method}`, { headers: ALLOW })
    const name = toHostName(x.host)
    const gateway = toGatewayUrl(HOST_NAME.test(name) ? name : 'localhost')
    x.reply(200, formatPage(version, gateway), HEADERS)
  }
  const compile = (plugins: readonly Plugin[]): Chain => compileChain(plugins, () => {}, serve)
  const gateway = new Gateway({
    chain: compile(guards),
    onFault: (error) => log.error({ err: error }, 'the dashboard failed; answered 500'),
  })
  let listener: Listener
  try {
    listener = await createListener({ ...address, handle: gateway.handle })
  } catch (error) {
    await gateway.close()
    throw error
  }
  return {
    port: listener.port,
    use: (next) => gateway.use(compile(next)),
    async drain() {
      listener.drain()
      await gateway.idle()
    },
    async close() {
      await listener.close()
      await gateway.close()
    },
  }
}

function formatPage(version: string, gateway: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>mx ${version}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>mx ${version}</h1>
<p>The server runs. Every service is called through the gateway at <a href="${gateway}/">${gateway}</a>:</p>
<ul>
<li><a href="${gateway}/registry/listServices">/registry/listServices</a>: what is registered, with endpoints and nodes</li>
<li><a href="${gateway}/store/databases">/store/databases</a>: namespaces that keep records</li>
</ul>
<p>An endpoint <code>Handler.Method</code> of a service is at <code>/&lt;service&gt;/&lt;handler&gt;/&lt;method&gt;</code>,
or <code>/&lt;service&gt;/&lt;method&gt;</code> where the handler is called like the service.</p>
</body>
</html>
`
}
