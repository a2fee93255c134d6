import type { ClientThrottle } from '../client-throttle.ts'
import type { WebSocket as ClientSocket } from './uws-types.d.ts'

/**
 * What a client's WebSocket on µWebSockets leads to: a backend (`Tunnel`) or this process
 * (`UwsAcceptedSocket`). Memory of what it is given may be reused after each call.
 */
export interface SocketOwner {
  /** The client's half is open: messages may flow to it. `throttle` is undefined where the library cannot hold a client back. */
  readonly opened: (client: ClientSocket, throttle: ClientThrottle | undefined) => void
  readonly messageFromClient: (message: ArrayBuffer, binary: boolean) => void
  /** The library has answered it already. */
  readonly pingFromClient: (data: ArrayBuffer) => void
  readonly pongFromClient: (data: ArrayBuffer) => void
  /** Less waits for the client than before. */
  readonly clientDrained: () => void
  /**
   * The client's half is closed.
   *
   * @param code 1005: a close frame without a code; 1006: none.
   * @param abrupt without a close frame, whatever the code.
   */
  readonly clientClosed: (code: number, reason: string, abrupt: boolean) => void
  /** Ends the WebSocket with a code of the gateway's own. */
  readonly close: (code: number, reason: string) => void
}
