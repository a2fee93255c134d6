import t from 'tap'
import {
  ClientSockets,
  toClientSocketsMax,
  toPayloadMaxBytes,
} from '../../../../core/listener/websocket/client-sockets.ts'

const MIB = 1024 * 1024
const GIB = 1024 * MIB

t.test(
  'addresses of one IPv6 /64 network count as one client, and so do all loopback addresses',
  (t) => {
    for (const [first, second] of [
      ['2001:db8::1', '2001:db8::ffff:1'],
      ['127.0.0.1', '127.9.9.9'],
      ['192.0.2.7', '192.0.2.7'],
    ] as const) {
      const sockets = new ClientSockets(1)
      const remove = sockets.enter(first)
      t.throws(() => sockets.enter(second), { code: 503 }, second)
      sockets.enter('2001:db8:0:1::1')
      sockets.enter('192.0.2.8')
      remove()
      remove()
      sockets.enter(second)
      t.throws(() => sockets.enter(first), { code: 503 }, `${first} again`)
    }
    t.end()
  },
)

t.test('unfinished messages of one client use at most a quarter of the memory', (t) => {
  for (const [memory, message, sockets] of [
    [24 * GIB, MIB, 3072],
    [2 * GIB, MIB, 256],
    [2 * GIB, 64 * 1024, 4096],
    [24 * GIB, 16 * MIB, 361],
    [512 * MIB, 16 * MIB, 16],
  ] as const) {
    t.equal(toClientSocketsMax('auto', message, memory), sockets)
    const bytes = sockets * toPayloadMaxBytes(message)
    t.equal(toClientSocketsMax(2, message, memory), 2, 'a number is the limit')
    if (sockets > 16) t.ok(bytes <= memory / 4, `${bytes} of ${memory}`)
  }
  t.end()
})
