import { GatewayError } from '../../errors.ts'
import { OutgoingCall } from '../call.ts'

/** A call that is answered by a stream of messages. Whatever ends it is told as one error. */
export abstract class StreamCall extends OutgoingCall {
  /** @param request what it begins with, as JSON. */
  constructor(service: string, endpoint: string, request: object) {
    super()
    this.service = service
    this.endpoint = endpoint
    this.stream = true
    this.body = JSON.stringify(request)
  }

  protected abstract onSettled(error: GatewayError): void

  override onEnd(): void {
    this.onSettled(new GatewayError(this.service, 503, 'it ended the stream'))
  }

  override onReply(): void {
    this.onSettled(new GatewayError(this.service, 502, 'the answer is no stream'))
  }

  override onFail(error: GatewayError): void {
    this.onSettled(error)
  }
}
