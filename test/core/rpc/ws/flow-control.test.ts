import t from 'tap'
import {
  type CallWindows,
  consumeBody,
  openWindows,
  receiveBody,
  receiveCredit,
} from '../../../../core/rpc/ws/flow-control.ts'
import { WINDOW_BYTES } from '../../../../core/rpc/ws/frames.ts'

function open(): CallWindows {
  const call: CallWindows = { sendWindow: 0, receiveWindow: 0, consumedBytes: 0 }
  openWindows(call)
  return call
}

t.test('one body can exceed the window, and the next is a protocol error', async (t) => {
  const call = open()
  t.equal(receiveBody(call, WINDOW_BYTES + 1), undefined)
  t.match(receiveBody(call, 0), { code: 1002, reason: 'window is overdrawn' })
})

t.test(
  'returns credit for half a window at a time, but never for more than was received',
  async (t) => {
    const call = open()
    t.equal(consumeBody(call, WINDOW_BYTES), 0, 'nothing received')
    receiveBody(call, WINDOW_BYTES)
    t.equal(consumeBody(call, WINDOW_BYTES / 2 - 64), 0)
    t.equal(consumeBody(call, 1), WINDOW_BYTES / 2, 'a short body costs 64 bytes')
    t.equal(consumeBody(call, WINDOW_BYTES), WINDOW_BYTES / 2)
    t.match(call, { receiveWindow: WINDOW_BYTES, consumedBytes: 0 })
  },
)

t.test('credit beyond the largest window is a protocol error', async (t) => {
  const call = open()
  t.equal(receiveCredit(call, 2 ** 31 - 1 - WINDOW_BYTES), undefined)
  t.match(receiveCredit(call, 1), { code: 1002, reason: 'window is too large' })
})
