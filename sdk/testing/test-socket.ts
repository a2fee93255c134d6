import { AcceptedSocket } from '../../core/listener/websocket/accepted-socket.ts'

/** The client's end of a WebSocket accepted by a test exchange. Records all messages sent. */
export class TestSocket extends AcceptedSocket {
  /** Selected subprotocol; empty if none. */
  readonly protocol: string
  /** Messages sent to the client: text as strings, binary messages as bytes. */
  readonly messages: (string | Buffer)[] = []
  /** Number of bytes the client has not read. More than 1 MiB simulates a slow client. */
  override bufferedBytes = 0
  /** True while reading from the client is paused. */
  isPaused = false
  /** Close frame sent to the client; code 1006 if the connection was closed without one. */
  ended: { readonly code: number; readonly reason: string } | undefined = undefined

  constructor(protocol: string, ...base: ConstructorParameters<typeof AcceptedSocket>) {
    super(...base)
    this.protocol = protocol
  }

  /** Simulates the client: sends a message. */
  sendMessage(data: string | Uint8Array): void {
    this.receive(Buffer.from(data as Uint8Array), typeof data !== 'string')
  }

  /** Simulates the client: reads the buffered messages. @param remainingBytes number of bytes left unread. */
  drain(remainingBytes = 0): void {
    this.bufferedBytes = remainingBytes
    this.drained()
  }

  /** Simulates the client: disconnects. @param code close code; 1006 for no close frame. */
  disconnect(code = 1006, reason = ''): void {
    this.closed(code, reason, code === 1006)
  }

  protected override transmit(data: Uint8Array, binary: boolean): boolean {
    const copy = Buffer.from(data)
    this.messages.push(binary ? copy : copy.toString())
    return false
  }

  protected override cork(write: () => void): void {
    write()
  }

  protected override transmitClose(code: number, reason: string): void {
    this.ended = { code, reason }
  }

  protected override closeConnection(): void {
    this.ended = { code: 1006, reason: '' }
  }

  protected override pauseRead(): void {
    this.isPaused = true
  }

  protected override resumeRead(): void {
    this.isPaused = false
  }
}
