import type { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { HeaderList } from '../../core/http/headers.ts'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { frameMessage } from '../../core/rpc/grpc/message-reader.ts'
import { toErrorTrailers, toTrailers } from '../../core/rpc/grpc/status-codes.ts'
import { endReply, toWireBytes, type Wire } from '../../core/rpc/grpc/wire-format.ts'
import { Outflow } from './stream-flow-control.ts'

/**
 * gRPC, gRPC-Web or Connect response: length-prefixed messages, followed by the status. The constructor starts the
 * response.
 */
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

  data(message: Uint8Array): void {
    this.#outflow.add(toWireBytes(this.#wire, frameMessage(message)), message.length)
  }

  /** Must be called when the client can receive more. */
  drained(): void {
    this.#outflow.drained()
  }

  end(): void {
    this.#outflow.flush()
    endReply(this.#x, this.#wire, toTrailers(0))
  }

  /** Ends the response with an error, possibly after messages. */
  fail(error: GatewayError): void {
    this.#outflow.flush()
    endReply(this.#x, this.#wire, toErrorTrailers(error))
  }
}
