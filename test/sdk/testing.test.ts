import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { createTestExchange, runPlugin } from '../../sdk/testing.ts'

t.test('hooks run in the order of the gateway, and plugins in list order', async (t) => {
  const calls: string[] = []
  const plugin = (name: string) => ({
    name,
    onRequest: () => void calls.push(`${name} onRequest`),
    onRoute: () => void calls.push(`${name} onRoute`),
    onReply: () => void calls.push(`${name} onReply`),
    onDone: () => void calls.push(`${name} onDone`),
  })
  const { status, body } = await runPlugin(
    [plugin('a'), plugin('b')],
    {},
    { reply: { status: 201, body: 'made' } },
  )
  t.equal(status, 201)
  t.equal(body, 'made')
  t.same(calls, [
    'a onRequest',
    'b onRequest',
    'a onRoute',
    'b onRoute',
    'a onReply',
    'b onReply',
    'a onDone',
    'b onDone',
  ])
})

t.test('a response of a plugin stops the chain and runs the reply hooks', async (t) => {
  const { status, forwarded, headers } = await runPlugin({
    name: 'a',
    onRequest: (x) => x.reply(403, 'no'),
    onReply: (x) => x.replyHeaders.set('x-seen', 'yes'),
  })
  t.equal(status, 403)
  t.notOk(forwarded)
  t.equal(headers.get('x-seen'), 'yes')
})

t.test('an error of a plugin determines the status, and the test receives the cause', async (t) => {
  const failure = new GatewayError('a', 429, 'later')
  const wrapped = await runPlugin({ name: 'a', onRoute: () => Promise.reject(failure) })
  t.equal(wrapped.status, 429)
  t.equal(wrapped.thrown, failure)
  const error = new Error('bug')
  const unknown = await runPlugin({
    name: 'a',
    onRequest: () => {
      throw error
    },
  })
  t.equal(unknown.status, 500)
  t.equal(unknown.thrown, error)
  t.notMatch(unknown.body, 'bug')
})

t.test('the request has the values set by the test', async (t) => {
  const { x } = await runPlugin(
    { name: 'a' },
    {
      method: 'PUT',
      path: '/a?b=c',
      host: 'h.example',
      headers: { 'X-Two': ['1', '2'] },
      remoteAddress: '192.0.2.7',
      secure: true,
      body: 'four',
    },
    { handle: async (x) => x.reply(200, await x.readBody(), ['x-client', x.clientAddress]) },
  )
  t.match(x, {
    method: 'PUT',
    path: '/a',
    query: 'b=c',
    target: '/a?b=c',
    host: 'h.example',
    secure: true,
  })
  t.match(x, { bodyLength: 4, bytesIn: 4, bytesOut: 4, body: 'four' })
  t.same(x.headers.flat, ['x-two', '1', 'x-two', '2'])
  t.equal(x.replyHeaders.get('x-client'), '192.0.2.7')
})

t.test('a test exchange simulates streams, slow readers and aborted clients', async (t) => {
  const x = createTestExchange({ method: 'POST', body: 'announced' })
  const chunks: string[] = []
  x.pipeTo({
    onRequestBody: (chunk, last) => void chunks.push(`${Buffer.from(chunk)} ${last}`),
    onDrain: () => void chunks.push('drain'),
    onAbort: () => void chunks.push('abort'),
  })
  x.pauseBody()
  t.ok(x.paused)
  x.resumeBody()
  t.notOk(x.paused)
  x.sendBody('one', false)
  x.start(200, new HeaderList(), -1)
  t.equal(x.announcedLength, -1)
  t.ok(x.write(Buffer.from('a')))
  x.writable = false
  t.notOk(x.write(Buffer.from('b')))
  x.drain()
  x.disconnect()
  await x.done
  t.equal(x.body, 'ab')
  t.ok(x.aborted)
  t.same(chunks, ['one false', 'drain', 'abort'])
})

t.test(
  'the address of a closed connection is known only if it was read before the close',
  async (t) => {
    const withoutAddress = await runPlugin({ name: 'a' }, { remoteAddress: '192.0.2.7' })
    t.equal(withoutAddress.x.remoteAddress, '')
    const request = await runPlugin(
      { name: 'a', onRequest: (x) => void x.remoteAddress },
      { remoteAddress: '192.0.2.7' },
    )
    t.equal(request.x.remoteAddress, '192.0.2.7')
  },
)

t.test('an aborted response cuts the connection', async (t) => {
  const x = createTestExchange()
  x.start(200, new HeaderList(), 10)
  x.write(Buffer.from('half'))
  x.abortWith(new GatewayError('a', 502, 'backend left'))
  await x.done
  t.ok(x.wasCut)
  t.ok(x.aborted)
  t.equal(x.status, 200)
})
