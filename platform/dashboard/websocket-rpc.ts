import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { chooseProtocol } from '../../core/listener/websocket/handshake.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { GuardedCall } from '../../core/rpc/guarded-call.ts'
import { SUBPROTOCOL, WS_MESSAGE_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import { ServerConnection } from '../../core/rpc/ws/server-connection.ts'
import type { CallBridge } from './call-bridge.ts'
import { ID } from './id.ts'
import { requireSameOrigin } from './same-origin.ts'
import { findSession } from './session-cookie.ts'
import type { Session, Sessions } from './sessions.ts'

export interface WebSocketRpcOptions {
  readonly callBridge: CallBridge
  readonly sessions: Sessions
}

/**
 * WebSocket transport of the call protocol for pages (docs/protocol.md §2). Calls are authenticated
 * by the session.
 */
export interface WebSocketRpc {
  readonly serve: (x: Exchange) => Promise<void>
  /** Closes the connections of a session that has ended. */
  readonly end: (session: Session) => void
  /** Stops accepting calls; calls in flight continue. */
  readonly drain: () => void
  readonly close: () => void
}

/** Metadata that is removed from calls of pages, because they are authenticated by the cookie. */
const CREDENTIALS = /^(?:authorization|cookie):/

export function createWebSocketRpc({ callBridge, sessions }: WebSocketRpcOptions): WebSocketRpc {
  const connections = new Map<ServerConnection, Session>()
  let isDraining = false

  return {
    async serve(x) {
      if (!x.upgrade) throw new GatewayError(ID, 426, 'WebSocket upgrade required')
      requireSameOrigin(x)
      if (chooseProtocol(x.headers, SUBPROTOCOL) === '')
        throw new GatewayError(ID, 426, `the subprotocol ${SUBPROTOCOL} is required`)
      const session = findSession(x, sessions)
      const { clientAddress } = x
      // Calls are authorized individually. Accepting without awaiting avoids a late accept, which
      // the listener would report.
      if (sessions.isStale(session)) await sessions.check(session, clientAddress)
      sessions.touch(session)
      const connection: ServerConnection = new ServerConnection(
        (call) => {
          sessions.touch(session)
          new SessionCall(call, session).release((authenticated) =>
            callBridge(authenticated, clientAddress),
          )
        },
        { onClosed: () => connections.delete(connection) },
      )
      const options = { protocol: SUBPROTOCOL, maxMessageBytes: WS_MESSAGE_MAX_BYTES }
      const socket = x.accept(connection, options)
      if (socket === undefined) return
      connections.set(connection, session)
      connection.open(socket)
      if (isDraining) connection.goAway()
    },

    end(session) {
      for (const [connection, owner] of [...connections]) if (owner === session) connection.close()
    },

    drain() {
      isDraining = true
      for (const connection of [...connections.keys()]) connection.goAway()
    },

    close() {
      for (const connection of [...connections.keys()]) connection.close()
    },
  }
}

/** A call from a page with the current token of its session. */
class SessionCall extends GuardedCall {
  readonly #metadata: string

  constructor(call: IncomingCall, session: Session) {
    super(call)
    this.#metadata = `authorization: Bearer ${session.token}\r\n${withoutCredentials(call.metadata)}`
  }

  override get metadata(): string {
    return this.#metadata
  }
}

/** Removes credentials. Malformed metadata remains malformed. */
function withoutCredentials(metadata: string): string {
  return metadata
    .split('\r\n')
    .filter((line) => !CREDENTIALS.test(line))
    .join('\r\n')
}
