import t, { type Test } from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { replyMemory } from '../../core/limits/memory-budget.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { createTestExchange, type TestExchange, type TestRequest } from '../../sdk/testing.ts'

const upper = (maxBytes = 100): Plugin => ({
  name: 'upper',
  onReplyBody: (x) =>
    x.replyHeaders.get('content-type') === 'text/plain'
      ? { maxBytes, change: (body) => body.toString().toUpperCase() }
      : undefined,
})
const TEXT = ['content-type', 'text/plain'] as const

function startReply(
  t: Test,
  request: TestRequest,
  ...plugins: Plugin[]
): { x: TestExchange; faults: unknown[] } {
  const x = createTestExchange(request)
  const faults: unknown[] = []
  const chain = compileChain(
    plugins,
    () => {},
    () => {},
  )
  x.begin(
    chain,
    () => {},
    (error, _x, stage) => faults.push(error, stage),
  )
  t.teardown(() => x.disconnect())
  return { x, faults }
}

t.test('a complete body is changed before onReply sees the response', async (t) => {
  const tags: (string | undefined)[] = []
  const recordTag = {
    name: 'look',
    onReply: (y: TestExchange) => tags.push(y.replyHeaders.get('etag')),
  }
  const { x } = startReply(t, {}, recordTag as unknown as Plugin, upper())
  x.reply(200, 'ok', [
    ...TEXT,
    'etag',
    '"1"',
    'content-digest',
    'sha-256=:a:',
    'accept-ranges',
    'bytes',
  ])
  t.equal(x.body, 'OK')
  t.strictSame(x.replyHeaders.flat, [...TEXT, 'etag', 'W/"1"'])
  t.strictSame(tags, ['W/"1"'])
})

t.test('a streamed body is buffered, changed and sent completely', async (t) => {
  const { x } = startReply(t, {}, upper())
  const before = replyMemory.usedBytes
  x.start(200, new HeaderList(TEXT), -1)
  t.equal(x.answered, true)
  const chunk = Buffer.from('ab')
  t.equal(x.write(chunk), true)
  chunk.fill(0)
  x.write(Buffer.from('cd'))
  t.equal(x.body, '')
  t.equal(replyMemory.usedBytes, before + 4)
  x.reply(500, 'ignored')
  x.end()
  t.equal(x.body, 'ABCD')
  t.equal(x.announcedLength, undefined, 'with a length')
  t.equal(x.finished, true)
  t.equal(replyMemory.usedBytes, before)
})

t.test('changes of several plugins are applied in the order of the list', async (t) => {
  const add = (text: string): Plugin => ({
    name: 'add',
    onReplyBody: () => ({ maxBytes: 100, change: (body) => `${body}${text}` }),
  })
  const none: Plugin = {
    name: 'none',
    onReplyBody: () => ({ maxBytes: 100, change: () => undefined }),
  }
  const { x } = startReply(t, {}, add('a'), none, upper(), add('b'))
  x.reply(200, 'x', TEXT)
  t.equal(x.body, 'XAb')
})

t.test('a change with a coding comes last', async (t) => {
  const encode: Plugin = {
    name: 'encode',
    onReplyBody: () => ({ maxBytes: 100, coding: 'x-quoted', change: (body) => `"${body}"` }),
  }
  const { x } = startReply(t, {}, encode, upper())
  x.reply(200, 'ok', [...TEXT])
  t.equal(x.body, '"OK"')
  t.strictSame(x.replyHeaders.flat, [...TEXT, 'content-encoding', 'x-quoted'])
})

t.test('other responses are streamed', async (t) => {
  for (const [status, type] of [
    [200, 'text/event-stream'],
    [206, 'text/plain'],
  ] as const) {
    const { x } = startReply(t, {}, upper())
    x.start(status, new HeaderList(['content-type', type, 'etag', '"1"']), 2)
    x.write(Buffer.from('ok'))
    t.equal(x.body, 'ok', type)
    t.equal(x.announcedLength, 2)
    t.equal(x.replyHeaders.get('etag'), '"1"')
    x.end()
  }
  const all: Plugin = {
    name: 'all',
    onReplyBody: () => ({ maxBytes: 100, change: () => 'changed' }),
  }
  const { x } = startReply(t, {}, all)
  x.start(200, new HeaderList(['content-type', 'application/grpc+json']), -1)
  x.write(Buffer.from('frame'))
  t.equal(x.body, 'frame', 'gRPC')
})

t.test('responses without a body have no length, and a weak entity tag', async (t) => {
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 304],
    ['GET', 204],
  ] as const) {
    const { x } = startReply(t, { method }, upper())
    x.start(status, new HeaderList([...TEXT, 'etag', '"1"']), 10)
    t.equal(x.announcedLength, -1, method)
    t.equal(x.replyHeaders.get('etag'), 'W/"1"')
    x.end()
    t.equal(x.finished, true)
  }
  const { x } = startReply(t, {}, upper())
  x.reply(200, '', TEXT)
  t.equal(x.body, '', 'an empty body stays empty')
})

t.test('a body beyond the limit results in 502, and its sender is notified', async (t) => {
  const send: Record<string, (x: TestExchange) => void> = {
    announced: (x) => x.start(200, new HeaderList(TEXT), 5),
    chunked: (x) => {
      x.start(200, new HeaderList(TEXT), -1)
      x.write(Buffer.from('abc'))
      x.write(Buffer.from('de'))
    },
    complete: (x) => x.reply(200, 'abcde', TEXT),
  }
  for (const [name, run] of Object.entries(send)) {
    const before = replyMemory.usedBytes
    const { x } = startReply(t, {}, upper(4))
    const log: string[] = []
    x.setPeer({ onRequestBody: () => {}, onDrain: () => {}, onAbort: () => log.push('abort') })
    run(x)
    t.equal(x.status, 502, name)
    t.match(x.body, /response body exceeds the limit of 4 bytes for changes/)
    t.match(x.failure, /exceeds the limit/)
    t.strictSame(log, ['abort'])
    t.equal(replyMemory.usedBytes, before)
  }
  const { x } = startReply(t, {}, upper(4))
  x.reply(200, 'abcd', TEXT)
  t.equal(x.body, 'ABCD', 'a body at the limit is changed')
})

t.test('a buffered body beyond the memory of the process results in 503', async (t) => {
  const { maxBytes } = replyMemory
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  const { x } = startReply(t, {}, upper())
  x.start(200, new HeaderList(TEXT), -1)
  replyMemory.maxBytes = replyMemory.usedBytes + 3
  x.write(Buffer.from('abc'))
  t.equal(x.status, 200)
  x.write(Buffer.from('d'))
  t.equal(x.status, 503)
  t.equal(x.replyHeaders.get('retry-after'), '1')
})

t.test('a failure while the body is buffered is sent as an error', async (t) => {
  const before = replyMemory.usedBytes
  const { x } = startReply(t, {}, upper())
  x.start(200, new HeaderList(TEXT), -1)
  x.write(Buffer.from('abc'))
  x.abortWith(new GatewayError('test', 502, 'lost'))
  t.equal(x.status, 502)
  t.match(x.body, /"Detail":"lost"/)
  x.write(Buffer.from('d'))
  x.end()
  t.notMatch(x.body, /ABC/)
  t.equal(replyMemory.usedBytes, before)
  const { x: disconnected } = startReply(t, {}, upper())
  disconnected.start(200, new HeaderList(TEXT), -1)
  disconnected.write(Buffer.from('abc'))
  disconnected.disconnect()
  disconnected.end()
  t.equal(disconnected.body, '')
  t.equal(replyMemory.usedBytes, before, 'memory is freed when the client disconnects')
})

t.test('errors of the gateway are not changed', async (t) => {
  const all: Plugin = {
    name: 'all',
    onReplyBody: () => ({ maxBytes: 1000, change: () => 'changed' }),
  }
  const { x } = startReply(t, {}, all)
  x.fail(new GatewayError('test', 404, 'none'))
  t.match(x.body, /"Detail":"none"/)
})

t.test('a hook that throws results in 500, and a GatewayError is sent unchanged', async (t) => {
  const bug = new Error('bug')
  const hooks: Record<string, NonNullable<Plugin['onReplyBody']>> = {
    hook: () => {
      throw bug
    },
    change: () => ({
      maxBytes: 100,
      change: () => {
        throw bug
      },
    }),
  }
  for (const [name, onReplyBody] of Object.entries(hooks)) {
    const { x, faults } = startReply(t, {}, { name: 'faulty', onReplyBody })
    x.start(200, new HeaderList(TEXT), -1)
    x.write(Buffer.from('abc'))
    x.end()
    t.equal(x.status, 500, name)
    t.notMatch(x.body, /bug|abc/)
    t.strictSame(faults, [bug, { plugin: 'faulty', hook: 'onReplyBody' }])
  }
  const denied: Plugin = {
    name: 'denied',
    onReplyBody: () => ({
      maxBytes: 100,
      change: () => {
        throw new GatewayError('denied', 451, 'not here')
      },
    }),
  }
  const { x, faults } = startReply(t, {}, denied)
  x.reply(200, 'ok', TEXT)
  t.equal(x.status, 451)
  t.strictSame(faults, [])
})

t.test('a chain without body hooks has no step for them', async (t) => {
  const chain = compileChain(
    [{ name: 'other', onReply: () => {} }],
    () => {},
    () => {},
  )
  t.strictSame(chain.onReplyBody, [])
})
