import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { chooseProtocol } from '../../core/listener/websocket/handshake.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { GuardedCall } from '../../core/rpc/guarded-call.ts'
import { MESSAGE_MAX_BYTES, SUBPROTOCOL } from '../../core/rpc/ws/frames.ts'
import { ServerConnection } from '../../core/rpc/ws/server-connection.ts'
import type { CallBridge } from './call-bridge.ts'
import { ID } from './id.ts'
import { requireSameOrigin } from './same-origin.ts'
import { findSession } from './session-cookie.ts'
import type { Session, Sessions } from './sessions.ts'

export interface WebSocketRpcOptions {
  readonly carry: CallBridge
  readonly sessions: Sessions
}

/** The WebSocket of pages: the fast form of the call protocol (docs/protocol.md §2), each call as whoever is logged in. */
export interface WebSocketRpc {
  readonly serve: (x: Exchange) => Promise<void>
  /** Closes the connections of a session that has ended. */
  readonly end: (session: Session) => void
  /** Takes no more calls; those under way go on. */
  readonly drain: () => void
  readonly close: () => void
}

/** Of metadata of pages: what says who calls comes from the cookie. */
const OF_CALLER = /^(?:authorization|cookie):/

export function createWebSocketRpc({ carry, sessions }: WebSocketRpcOptions): WebSocketRpc {
  const connections = new Map<ServerConnection, Session>()
  let isLeaving = false

  return {
    async serve(x) {
      if (!x.upgrade) throw new GatewayError(ID, 426, 'calls come by WebSocket here')
      requireSameOrigin(x)
      if (chooseProtocol(x.headers, SUBPROTOCOL) === '')
        throw new GatewayError(ID, 426, `calls need the subprotocol ${SUBPROTOCOL}`)
      const session = findSession(x, sessions)
      const { clientAddress } = x
      // Each call is judged by itself; what is accepted at once, the listener need not accept later, which it complains about.
      if (sessions.isStale(session)) await sessions.check(session, clientAddress)
      sessions.touch(session)
      const connection: ServerConnection = new ServerConnection(
        (call) => {
          sessions.touch(session)
          new SessionCall(call, session).release((shown) => carry(shown, clientAddress))
        },
        { onClosed: () => connections.delete(connection) },
      )
      const options = { protocol: SUBPROTOCOL, maxMessageBytes: MESSAGE_MAX_BYTES }
      const socket = x.accept(connection, options)
      if (socket === undefined) return
      connections.set(connection, session)
      connection.open(socket)
      if (isLeaving) connection.goAway()
    },

    end(session) {
      for (const [connection, owner] of [...connections]) if (owner === session) connection.close()
    },

    drain() {
      isLeaving = true
      for (const connection of [...connections.keys()]) connection.goAway()
    },

    close() {
      for (const connection of [...connections.keys()]) connection.close()
    },
  }
}

/** A call of a page, with the newest token of its session. */
class SessionCall extends GuardedCall {
  readonly #metadata: string

  constructor(call: IncomingCall, session: Session) {
    super(call)
    this.#metadata = `authorization: Bearer ${session.token}\r\n${withoutCaller(call.metadata)}`
  }

  override get metadata(): string {
    return this.#metadata
  }
}

/** Lines end as `isMetadata` has them end; what is malformed stays so. */
function withoutCaller(metadata: string): string {
  return metadata
    .split('\r\n')
    .filter((line) => !OF_CALLER.test(line))
    .join('\r\n')
}
