import type { ClientThrottle } from '../client-throttle.ts'
import { AcceptedSocket } from '../websocket/accepted-socket.ts'
import { NO_STATUS } from '../websocket/close-codes.ts'
import type { SocketOwner } from './peer.ts'
import type { WebSocket as ClientSocket } from './uws-types.d.ts'

/** A client's WebSocket on µWebSockets that this process accepted. */
export class UwsAcceptedSocket extends AcceptedSocket implements SocketOwner {
  #client: ClientSocket | undefined = undefined
  #throttle: ClientThrottle | undefined = undefined

  get bufferedBytes(): number {
    return this.#client === undefined ? 0 : this.#client.getBufferedAmount()
  }

  opened(client: ClientSocket, throttle: ClientThrottle | undefined): void {
    this.#client = client
    this.#throttle = throttle
  }

  messageFromClient(message: ArrayBuffer, binary: boolean): void {
    this.#throttle?.pauseClient()
    this.receive(new Uint8Array(message), binary)
  }

  pingFromClient(): void {}

  pongFromClient(): void {}

  clientDrained(): void {
    this.drained()
  }

  clientClosed(code: number, reason: string, abrupt: boolean): void {
    this.#client = undefined
    this.#throttle?.stop()
    this.closed(code, reason, abrupt)
  }

  protected transmit(data: Uint8Array, binary: boolean): boolean {
    // Without a separate `cork`, since a single message is written with one system call anyway.
    const sent = this.#client!.send(data, binary) === 1
    if (!sent) this.#throttle?.pauseClient()
    return sent
  }

  protected cork(write: () => void): void {
    this.#client!.cork(write)
  }

  protected transmitClose(code: number, reason: string): void {
    const client = this.#client
    // The library calls back before it returns.
    this.#client = undefined
    // The library expects no code for a close frame without a code.
    if (code === NO_STATUS) client?.end()
    else client?.end(code, reason)
  }

  protected closeConnection(): void {
    const client = this.#client
    this.#client = undefined
    client?.close()
  }

  protected pauseRead(): void {
    this.#throttle?.pause()
  }

  protected resumeRead(): void {
    this.#throttle?.resume()
  }
}
