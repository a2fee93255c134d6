import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { GuardedCall } from '../../../core/rpc/guarded-call.ts'
import { TestCall } from '../../fixtures/served-calls.ts'

function open(parts = {}) {
  const call = new TestCall('A.B', parts)
  const guarded = new GuardedCall(call)
  const told: string[] = []
  guarded.onSettled = () => void told.push('over')
  const receiver = {
    onData: (body: Uint8Array) => void told.push(`data ${Buffer.from(body).toString()}`),
    onEnd: () => void told.push('end'),
    onCancel: (reason: string) => void told.push(`cancel ${reason}`),
    onCredit: () => void told.push('credit'),
  }
  const serve = () => {
    told.push('served')
    guarded.receiver = receiver
  }
  return { call, guarded, told, serve }
}

t.test('data received before release is delivered after it', (t) => {
  const { call, guarded, told, serve } = open({ body: 'a', more: true })
  call.send('b')
  call.end()
  t.same(told, [])
  guarded.release(serve)
  t.same(told, ['served', 'data b', 'end'])
  t.equal(Buffer.from(guarded.body).toString(), 'a')
  t.end()
})

t.test('data received after release is delivered directly', (t) => {
  const { call, guarded, told, serve } = open({ more: true })
  guarded.release(serve)
  call.send('b')
  call.end()
  call.read()
  guarded.reply('x: y\r\n', 'c')
  t.same(told, ['served', 'data b', 'end', 'credit', 'over'])
  t.match(call, { replyMetadata: 'x: y\r\n', replyBody: 'c' })
  t.end()
})

t.test('ending a call fails it with the reason and cancels its receiver', (t) => {
  const { call, guarded, told, serve } = open({ stream: true })
  guarded.release(serve)
  guarded.sendData('a')
  const reason = new GatewayError('greeter', 401, 'no more')
  guarded.end(reason)
  guarded.end(reason)
  t.equal(call.error, reason)
  t.same(call.bodies, ['a'])
  t.same(told, ['served', 'over', 'cancel cancel'])
  t.end()
})

t.test('a call that is cancelled before release is not served', (t) => {
  const { call, guarded, told, serve } = open()
  call.cancel()
  guarded.release(serve)
  t.same(told, ['over'])
  t.end()
})
