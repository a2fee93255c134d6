import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { GuardedCall } from '../../../core/rpc/guarded-call.ts'
import { TestCall } from '../../fixtures/served-calls.ts'

function open(parts = {}) {
  const call = new TestCall('A.B', parts)
  const guarded = new GuardedCall(call)
  const events: string[] = []
  guarded.onSettled = () => void events.push('over')
  const receiver = {
    onData: (body: Uint8Array) => void events.push(`data ${Buffer.from(body).toString()}`),
    onEnd: () => void events.push('end'),
    onCancel: (reason: string) => void events.push(`cancel ${reason}`),
    onCredit: () => void events.push('credit'),
  }
  const serve = () => {
    events.push('served')
    guarded.receiver = receiver
  }
  return { call, guarded, events, serve }
}

t.test('data received before release is delivered after it', (t) => {
  const { call, guarded, events, serve } = open({ body: 'a', more: true })
  call.send('b')
  call.end()
  t.same(events, [])
  guarded.release(serve)
  t.same(events, ['served', 'data b', 'end'])
  t.equal(Buffer.from(guarded.body).toString(), 'a')
  t.end()
})

t.test('data received after release is delivered directly', (t) => {
  const { call, guarded, events, serve } = open({ more: true })
  guarded.release(serve)
  call.send('b')
  call.end()
  call.read()
  guarded.reply('x: y\r\n', 'c')
  t.same(events, ['served', 'data b', 'end', 'credit', 'over'])
  t.match(call, { replyMetadata: 'x: y\r\n', replyBody: 'c' })
  t.end()
})

t.test('ending a call fails it with the reason and cancels its receiver', (t) => {
  const { call, guarded, events, serve } = open({ stream: true })
  guarded.release(serve)
  guarded.sendData('a')
  const reason = new GatewayError('greeter', 401, 'no more')
  guarded.end(reason)
  guarded.end(reason)
  t.equal(call.error, reason)
  t.same(call.bodies, ['a'])
  t.same(events, ['served', 'over', 'cancel cancel'])
  t.end()
})

t.test('a call that is cancelled before release is not served', (t) => {
  const { call, guarded, events, serve } = open()
  call.cancel()
  guarded.release(serve)
  t.same(events, ['over'])
  t.end()
})
