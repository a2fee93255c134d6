import type { ClientThrottle } from '../client-throttle.ts'
import type { WebSocket as ClientSocket } from './uws-types.d.ts'

/**
 * Receiver of a client's WebSocket on µWebSockets: a backend (`Tunnel`) or this process (`UwsAcceptedSocket`). The
 * memory of arguments may be reused after each call.
 */
export interface SocketOwner {
  /** Called when the client side is open. `throttle` is undefined if the library cannot pause a client. */
  readonly opened: (client: ClientSocket, throttle: ClientThrottle | undefined) => void
  readonly messageFromClient: (message: ArrayBuffer, binary: boolean) => void
  /** Called for a ping; the library has already sent a pong. */
  readonly pingFromClient: (data: ArrayBuffer) => void
  readonly pongFromClient: (data: ArrayBuffer) => void
  /** Called when fewer bytes than before are buffered for the client. */
  readonly clientDrained: () => void
  /**
   * Called when the client side is closed.
   *
   * @param code 1005 for a close frame without a code, 1006 without a close frame.
   * @param abrupt whether there was no close frame, regardless of the code.
   */
  readonly clientClosed: (code: number, reason: string, abrupt: boolean) => void
  /** Ends the WebSocket with a code from the gateway. */
  readonly close: (code: number, reason: string) => void
}
