import t from 'tap'
import type { Exchange } from '../../../core/exchange.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import type { SocketReceiver } from '../../../core/listener/websocket/session.ts'
import { createTestExchange, runPlugin } from '../../../sdk/testing.ts'

function record(events: string[]): SocketReceiver {
  return {
    onMessage: (data, binary) => events.push(`${binary ? 'bytes' : 'text'} ${Buffer.from(data)}`),
    onDrain: () => events.push('drain'),
    onClose: (code, reason) => events.push(`close ${code} ${reason}`.trim()),
  }
}

const chat = { upgrade: true, headers: { 'sec-websocket-protocol': 'a, chat.v1' } }

t.test('a test exchange simulates a WebSocket client', async (t) => {
  const x = createTestExchange(chat)
  const events: string[] = []
  const socket = x.accept(record(events), {
    protocol: 'chat.v1',
    headers: new HeaderList(['a', 'b']),
  })!
  t.equal(socket, x.socket)
  t.equal(x.status, 101)
  t.equal(x.replyHeaders.get('a'), 'b')
  t.equal(socket.protocol, 'chat.v1')
  t.ok(socket.send('text', false))
  t.ok(socket.send(Buffer.from('bytes'), true))
  t.same(socket.messages, ['text', Buffer.from('bytes')])
  socket.sendMessage('hello')
  socket.sendMessage(Buffer.from('hello'))
  t.notOk(x.finished)
  socket.disconnect(4000, 'done')
  await x.done
  t.same(events, ['text hello', 'bytes hello', 'close 4000 done'])
  t.match(x, { bytesIn: 10, bytesOut: 9, aborted: false })
})

t.test('a simulated client can be slow, paused, or disconnect abruptly', async (t) => {
  const x = createTestExchange({ upgrade: true })
  const events: string[] = []
  const socket = x.accept(record(events), { protocol: 'chat.v1' })!
  t.equal(socket.protocol, '', 'the client did not offer this protocol')
  socket.bufferedBytes = 2 * 1024 * 1024
  t.notOk(socket.send('waits', false))
  socket.drain(256 * 1024 + 1)
  t.notOk(socket.send('waits, too', false), 'until at most 256 KiB are buffered')
  socket.drain(256 * 1024)
  t.ok(socket.send('goes out', false))
  socket.drain()
  socket.pause()
  t.ok(socket.isPaused)
  socket.resume()
  t.notOk(socket.isPaused)
  socket.disconnect()
  await x.done
  t.same(events, ['drain', 'close 1006'])
  t.ok(x.aborted)
})

t.test('the test can read the outcome of a WebSocket', async (t) => {
  for (const [end, expected] of [
    [(x) => x.socket?.close(1008, 'not you'), { code: 1008, reason: 'not you' }],
    [(x) => x.socket?.terminate(), { code: 1006, reason: '' }],
    [(x) => x.abortWith(new Error('bug') as never), { code: 1011, reason: 'internal error' }],
  ] as const satisfies [(x: ReturnType<typeof createTestExchange>) => void, object][]) {
    const x = createTestExchange({ upgrade: true })
    const events: string[] = []
    x.accept(record(events))
    end(x)
    await x.done
    t.same(x.socket?.ended, expected)
    t.same(events, [`close ${expected.code} ${expected.reason}`.trim()])
  }
})

t.test('a plugin can accept a WebSocket, and a later rejection takes precedence', async (t) => {
  const events: string[] = []
  const accept = { name: 'a', onRequest: (x: Exchange) => void x.accept(record(events)) }
  const plain = await runPlugin(accept)
  t.equal(plain.status, 426)
  const hook = {
    name: 'b',
    onReply: () => {
      throw new Error('broken')
    },
  }
  const broken = await runPlugin([accept, hook], { upgrade: true })
  t.equal(broken.status, 500)
  const other = {
    name: 'b',
    onReply: (x: Exchange) => {
      x.status = 404
    },
  }
  const rejected = await runPlugin([accept, other], { upgrade: true })
  t.equal(rejected.status, 404)
  t.same(events, [])
  const x = createTestExchange({ upgrade: true })
  x.reply(401)
  t.equal(x.accept(record(events)), undefined)
})
