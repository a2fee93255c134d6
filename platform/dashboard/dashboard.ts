import type { Chain, Plugin } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { Gateway } from '../../core/gateway.ts'
import type { CreateListener, Listener } from '../../core/listener/listener.ts'
import type { TlsSource } from '../../core/listener/tls/tls.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { RPC_PATH, WS_MESSAGE_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { settlesWithin } from '../../lib/async/timeout.ts'
import type { Log } from '../process/log.ts'
import type { Address } from '../settings/parse/address.ts'
import type { CallBridge } from './call-bridge.ts'
import { ID } from './id.ts'
import { createLoginRoutes } from './login-routes.ts'
import { createPages } from './pages.ts'
import { secureReplies } from './security-headers.ts'
import { createSessions, type SessionsOptions } from './sessions.ts'
import { createWebSocketRpc } from './websocket-rpc.ts'

export interface DashboardOptions extends Pick<SessionsOptions, 'idleTimeoutMs' | 'maxAgeMs'> {
  readonly address: Address
  readonly createListener: CreateListener
  /** Certificates; plain HTTP if undefined. */
  readonly tls?: TlsSource | undefined
  /** Folder of the built front end. @default `dist/dashboard` of this program */
  readonly folder?: string
  /** Forwards calls from pages. */
  readonly callBridge: CallBridge
  /** Plugins that reject requests with other hosts and origins. */
  readonly guards: readonly Plugin[]
  readonly log: Log
}

/** A running dashboard. */
export interface Dashboard {
  readonly port: number
  /** Replaces the guards. */
  readonly use: (guards: readonly Plugin[]) => void
  /** Stops accepting connections and calls, and waits at most `timeoutMs` for calls in flight. */
  readonly drain: (timeoutMs: number) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Starts the dashboard: front end, login and logout, and the WebSocket for calls from pages.
 *
 * @throws {Error} with a one-line message if the port is in use or not permitted.
 */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { address, createListener, tls, folder, callBridge, guards, log } = options
  const { idleTimeoutMs, maxAgeMs } = options
  const sessions = createSessions({
    ...{ callBridge, idleTimeoutMs, maxAgeMs },
    onEnd: (session) => rpc.end(session),
  })
  const rpc = createWebSocketRpc({ callBridge, sessions })
  const servePage = createPages(folder)
  const serveLogin = createLoginRoutes(sessions, maxAgeMs)
  const serve = (x: Exchange): void | Promise<void> => {
    if (x.path === RPC_PATH) return rpc.serve(x)
    if (x.upgrade) throw new GatewayError(ID, 404, `no WebSocket at ${x.path}; use ${RPC_PATH}`)
    return serveLogin(x) ?? servePage(x)
  }
  const compile = (plugins: readonly Plugin[]): Chain =>
    compileChain([secureReplies, ...plugins], () => {}, serve)
  const gateway = new Gateway({
    chain: compile(guards),
    onFault: (error) => log.error({ err: error }, 'dashboard request failed; sent 500'),
  })
  let listener: Listener
  try {
    listener = await createListener({
      ...address,
      tls,
      maxMessageBytes: WS_MESSAGE_MAX_BYTES,
      handle: gateway.handle,
    })
  } catch (error) {
    await gateway.close()
    throw error
  }
  return {
    port: listener.port,
    use: (next) => gateway.use(compile(next)),
    async drain(timeoutMs) {
      listener.drain()
      rpc.drain()
      await settlesWithin(gateway.idle(), timeoutMs)
    },
    async close() {
      rpc.close()
      sessions.close()
      await listener.close()
      await gateway.close()
    },
  }
}
