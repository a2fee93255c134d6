import t from 'tap'
import type { Carrier, OutgoingCall } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { RecordedCall } from '../../fixtures/rpc.ts'

t.test('a call forwards its methods to its carrier', async (t) => {
  const events: unknown[] = []
  const carrier: Carrier = {
    sendData: (call, body) => {
      events.push(['data', call, body])
      return false
    },
    endData: (call) => events.push(['end', call]),
    consumed: (call, bytes) => events.push(['consumed', call, bytes]),
    cancel: (call) => events.push(['cancel', call]),
    expire: (call) => events.push(['expire', call]),
  }
  const call: OutgoingCall = new RecordedCall()
  call.carrier = carrier
  t.equal(call.sendData('a'), false)
  call.endData()
  call.consumed(7)
  call.cancel()
  call.onDeadline()
  t.strictSame(events, [
    ['data', call, 'a'],
    ['end', call],
    ['consumed', call, 7],
    ['cancel', call],
    ['expire', call],
  ])
})

t.test('the methods of a call without a carrier do nothing', async (t) => {
  const call = new RecordedCall({ timeoutMs: 1000 })
  t.equal(call.sendData('a'), true)
  call.endData()
  call.consumed(1)
  call.cancel()
  deadlines.add(call, 1000)
  call.release()
  t.equal(deadlines.size, 0, 'its deadline is removed')
  call.onDeadline()
  t.strictSame(call.events, [])
})
