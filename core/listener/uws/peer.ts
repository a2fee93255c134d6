import type { ClientThrottle } from '../client-throttle.ts'
import type { WebSocket as ClientSocket } from './uws-types.d.ts'

/**
 * Receiver of a client's WebSocket on µWebSockets: a backend (`Tunnel`) or this process (`UwsAcceptedSocket`). Memory of arguments may be
 * reused after each call.
 */
export interface SocketOwner {
  /** The client side is open. `throttle` is undefined if the library cannot pause a client. */
  readonly opened: (client: ClientSocket, throttle: ClientThrottle | undefined) => void
  readonly messageFromClient: (message: ArrayBuffer, binary: boolean) => void
  /** The library has already sent a pong. */
  readonly pingFromClient: (data: ArrayBuffer) => void
  readonly pongFromClient: (data: ArrayBuffer) => void
  /** Fewer bytes are buffered for the client than before. */
  readonly clientDrained: () => void
  /**
   * The client side is closed.
   *
   * @param code 1005: a close frame without a code; 1006: no close frame.
   * @param abrupt without a close frame, for any code.
   */
  readonly clientClosed: (code: number, reason: string, abrupt: boolean) => void
  /** Ends the WebSocket with a code of the gateway. */
  readonly close: (code: number, reason: string) => void
}
