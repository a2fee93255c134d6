import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { StreamCall } from '../../../../core/rpc/ws/stream-call.ts'

class Watch extends StreamCall {
  readonly messages: string[] = []

  override onLost(_kind: string, detail: string): void {
    this.onSettled(new GatewayError('things', 502, detail))
  }

  protected override onSettled({ id, code, message }: GatewayError): void {
    this.messages.push(`${id} ${code} ${message}`)
  }
}

t.test('a stream call requests a stream with its body', (t) => {
  const call = new Watch('things', 'Things.Watch', { a: 1 })
  t.match(call, { service: 'things', endpoint: 'Things.Watch', body: '{"a":1}', stream: true })
  t.end()
})

t.test('every end of the stream is reported as an error', (t) => {
  const call = new Watch('things', 'Things.Watch', {})
  call.onEnd()
  call.onReply()
  call.onFail(new GatewayError('other', 409, 'no'))
  t.strictSame(call.messages, [
    'things 503 the service ended the stream',
    'things 502 the response is not a stream',
    'other 409 no',
  ])
  t.end()
})
