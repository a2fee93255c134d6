import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { frameMessage } from '../../core/rpc/grpc/message-reader.ts'
import { toErrorTrailers, toTrailers } from '../../core/rpc/grpc/status-codes.ts'
import { endReply, toWireBytes, type Wire } from '../../core/rpc/grpc/wire-format.ts'
import { Outflow } from './stream-flow-control.ts'

/** A reply to a client of gRPC, gRPC-Web or Connect: messages behind their lengths, then the status. Begins with its construction. */
export class FramedReply {
  readonly #x: Exchange
  readonly #wire: Wire
  readonly #outflow: Outflow

  constructor(x: Exchange, wire: Wire, call: OutgoingCall, headers: HeaderList) {
    this.#x = x
    this.#wire = wire
    this.#outflow = new Outflow(call, (pieces) =>
      x.write(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)),
    )
    headers.set('content-type', wire.contentType)
    x.start(200, headers, -1)
  }

  /** Sends a message. */
  data(message: Uint8Array): void {
    this.#outflow.add(toWireBytes(this.#wire, frameMessage(message)), message.length)
  }

  /** The client takes more. */
  drained(): void {
    this.#outflow.drained()
  }

  /** All messages were sent. */
  end(): void {
    this.#outflow.flush()
    endReply(this.#x, this.#wire, toTrailers(0))
  }

  /** The call failed, also after messages. */
  fail(error: GatewayError): void {
    this.#outflow.flush()
    endReply(this.#x, this.#wire, toErrorTrailers(error))
  }
}
