import { GatewayError } from '../../errors.ts'
import { OutgoingCall } from '../call.ts'

/** A call with a streamed response. Any end of the call is reported as an error. */
export abstract class StreamCall extends OutgoingCall {
  /** @param request JSON of the first body. */
  constructor(service: string, endpoint: string, request: object) {
    super()
    this.service = service
    this.endpoint = endpoint
    this.stream = true
    this.body = JSON.stringify(request)
  }

  protected abstract onSettled(error: GatewayError): void

  override onEnd(): void {
    this.onSettled(new GatewayError(this.service, 503, 'the service ended the stream'))
  }

  override onReply(): void {
    this.onSettled(new GatewayError(this.service, 502, 'the response is not a stream'))
  }

  override onFail(error: GatewayError): void {
    this.onSettled(error)
  }
}
