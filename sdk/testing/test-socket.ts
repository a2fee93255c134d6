import { AcceptedSocket } from '../../core/listener/websocket/accepted-socket.ts'

/** The client's end of a WebSocket that a test exchange accepted: everything sent is kept. */
export class TestSocket extends AcceptedSocket {
  /** Subprotocol of the answer; empty: none. */
  readonly protocol: string
  /** What the client was sent so far: text as strings, the rest as bytes. */
  readonly messages: (string | Buffer)[] = []
  /** Bytes the client has not taken. More than 1 MiB plays a client that reads slowly. */
  override bufferedBytes = 0
  /** Whether the client is held back. */
  held = false
  /** The close frame the client was sent, or what its absence stands for: 1006. */
  ended: { readonly code: number; readonly reason: string } | undefined = undefined

  constructor(protocol: string, ...base: ConstructorParameters<typeof AcceptedSocket>) {
    super(...base)
    this.protocol = protocol
  }

  /** Plays the client: sends a message. */
  sendMessage(data: string | Uint8Array): void {
    this.receive(Buffer.from(data as Uint8Array), typeof data !== 'string')
  }

  /** Plays the client: takes what waits. @param left bytes it does not take yet. */
  drain(left = 0): void {
    this.bufferedBytes = left
    this.drained()
  }

  /** Plays the client: leaves. @param code 1006: without a close frame. */
  leave(code = 1006, reason = ''): void {
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

  protected override cut(): void {
    this.ended = { code: 1006, reason: '' }
  }

  protected override pauseRead(): void {
    this.held = true
  }

  protected override resumeRead(): void {
    this.held = false
  }
}
