import { setImmediate as turn } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { Gateway } from '../../core/gateway.ts'
import { compileOriginPolicy, rejectOrigin } from '../../core/http/origin/origin-policy.ts'
import type { CreateListener, Listener } from '../../core/listener/listener.ts'
import { chooseProtocol } from '../../core/listener/websocket/handshake.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { sendFail } from '../../core/rpc/http/served-call.ts'
import { servePlain } from '../../core/rpc/http/server.ts'
import { RPC_PATH, SUBPROTOCOL, WS_MESSAGE_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { ServerConnection, type ServerLimits } from '../../core/rpc/ws/server-connection.ts'
import { type ListenAddress, toReachable } from './listen-address.ts'

/** Limits per caller and for all callers combined. */
export interface ServiceLimits extends Omit<ServerLimits, 'onClosed'> {
  /** Maximum number of connections; excess connections are closed immediately. @default unlimited */
  readonly maxConnections?: number
  /** See `ListenerOptions`. @default unlimited */
  readonly maxClientSockets?: number
}

export interface ServicePortOptions {
  readonly address: ListenAddress
  /** Error id for requests that are not calls. */
  readonly id: string
  /** Serves a call from the IP address `address`. Errors become the response. */
  readonly dispatch: (call: IncomingCall, address: string) => void
  readonly log: PluginLog
  readonly limits: ServiceLimits
  /** @default uws if it can be loaded */
  readonly listener: Listener['name'] | undefined
  /** Allowed web origins. */
  readonly origins: readonly string[]
}

/** An open port for calls over both transports (docs/protocol.md). */
export interface ServicePort {
  readonly port: number
  /** Registered address, `host:port`. */
  readonly address: string
  readonly server: Listener['name']
  /**
   * Rejects new connections and calls. Resolves when the calls in flight have ended and all callers have disconnected.
   */
  readonly drain: () => Promise<void>
  /** Closes all connections immediately. */
  readonly close: () => Promise<void>
}

/** Time in milliseconds for sending the last responses. */
const LINGER_MS = 1000
const POLL_MS = 10

/**
 * Opens a port for calls.
 *
 * @throws {Error} with a one-line message if the port is in use or permission is denied.
 * @throws {TypeError} for an invalid origin.
 */
export async function openServicePort(options: ServicePortOptions): Promise<ServicePort> {
  const { address, id, dispatch, log, limits, origins } = options
  const isAllowed = compileOriginPolicy(origins)
  const connections = new Set<ServerConnection>()
  let leaving = false

  const accept = (x: Exchange): void => {
    // Web pages are not part of the platform, although a browser may reach the port.
    if (!isAllowed(x)) throw rejectOrigin(id)
    if (chooseProtocol(x.headers, SUBPROTOCOL) === '')
      throw new GatewayError(id, 426, `calls require the WebSocket subprotocol ${SUBPROTOCOL}`)
    const { remoteAddress } = x
    const serveCall = (call: IncomingCall): void => dispatch(call, remoteAddress)
    const connection: ServerConnection = new ServerConnection(serveCall, {
      ...limits,
      onClosed: () => connections.delete(connection),
    })
    const socket = x.accept(connection, {
      protocol: SUBPROTOCOL,
      maxMessageBytes: WS_MESSAGE_MAX_BYTES,
    })
    if (socket === undefined) return
    connections.add(connection)
    connection.open(socket)
    if (leaving) connection.goAway()
  }
  const serve = (x: Exchange): void => {
    if (x.path === RPC_PATH) {
      if (!x.upgrade) throw new GatewayError(id, 426, 'calls require a WebSocket on this port')
      accept(x)
    } else if (x.upgrade) {
      throw new GatewayError(id, 404, `WebSockets are only served at ${RPC_PATH}`)
    } else if (!isAllowed(x)) sendFail(x, rejectOrigin(id, 'calls'))
    else {
      const { remoteAddress } = x
      servePlain(x, (call) => dispatch(call, remoteAddress), { id })
    }
  }
  const gateway = new Gateway({
    chain: compileChain([], () => {}, serve),
    onFault: (error) => log.error({ err: error }, 'request failed'),
  })
  let listener: Listener
  try {
    const create = await chooseListener(options.listener)
    listener = await create({
      ...address,
      maxConnections: limits.maxConnections ?? Number.POSITIVE_INFINITY,
      maxClientSockets: limits.maxClientSockets ?? Number.POSITIVE_INFINITY,
      maxMessageBytes: WS_MESSAGE_MAX_BYTES,
      internalHeaders: true,
      handle: gateway.handle,
    })
  } catch (error) {
    await gateway.close()
    throw error
  }
  return {
    port: listener.port,
    address: toReachable({ ...address, port: listener.port }),
    server: listener.name,
    async drain() {
      leaving = true
      // Pending connections have been accepted by then.
      await turn()
      listener.drain()
      for (const connection of [...connections]) connection.goAway()
      await gateway.idle()
      const untilMs = performance.now() + LINGER_MS
      while (listener.connections > 0 && performance.now() < untilMs)
        await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    },
    async close() {
      for (const connection of [...connections]) connection.close()
      await listener.close()
      await gateway.close()
    },
  }
}

/** Loads the listener on demand. */
async function chooseListener(requested: Listener['name'] | undefined): Promise<CreateListener> {
  if (requested !== 'node') {
    const { createUwsListener, loadUws } = await import('../../core/listener/uws/listener.ts')
    if (requested === 'uws' || loadUws() !== undefined) return createUwsListener
  }
  return (await import('../../core/listener/node/listener.ts')).createNodeListener
}
