import t from 'tap'
import type { Plugin } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { bodyMemory } from '../../core/limits/memory-budget.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import type { Peer } from '../../core/request/incoming-request.ts'
import { createTestExchange, type TestExchange, type TestRequest } from '../../sdk/testing.ts'

interface RecordedPeer extends Peer {
  readonly log: string[]
}

function createPeer(): RecordedPeer {
  const log: string[] = []
  return {
    log,
    onRequestBody: (chunk, last) => void log.push(`${Buffer.from(chunk)}${last ? ' last' : ''}`),
    onDrain: () => void log.push('drain'),
    onAbort: () => void log.push('abort'),
  }
}

function raise(error: unknown): never {
  throw error
}

type RecordedExchange = TestExchange & { finishes: number; faults: unknown[] }

const started: RecordedExchange[] = []

function startExchange(request: TestRequest = {}, ...plugins: Partial<Plugin>[]): RecordedExchange {
  const x = createTestExchange(request) as RecordedExchange
  x.finishes = 0
  x.faults = []
  const chain = compileChain(
    plugins.map((plugin) => ({ name: 'test', ...plugin })),
    () => {},
    () => {},
  )
  x.begin(
    chain,
    () => x.finishes++,
    (error, failed, stage) => x.faults.push(error, failed === x, stage?.hook),
  )
  started.push(x)
  return x
}

t.afterEach(() => {
  for (const x of started.splice(0)) x.disconnect()
})

t.test(
  'a request body that exceeds the memory is dropped with 413, and a later peer is aborted',
  async (t) => {
    const { maxBytes } = bodyMemory
    t.teardown(() => {
      bodyMemory.maxBytes = maxBytes
    })
    bodyMemory.maxBytes = 1000
    const x = startExchange({ method: 'POST', body: 'x'.repeat(2000) })
    // Simulates a slow client that has not received the error response yet.
    Object.assign(x, { transmit: () => {} })
    x.sendBody('a'.repeat(500), false)
    t.ok(bodyMemory.usedBytes > 0)
    x.sendBody('b'.repeat(500), false)
    t.strictSame([x.status, x.finished, bodyMemory.usedBytes], [413, false, 0])
    const peer = createPeer()
    x.pipeTo(peer)
    x.sendBody('c'.repeat(1000), true)
    t.equal(bodyMemory.usedBytes, 0)
    t.strictSame(peer.log, ['abort'])
  },
)

t.test('a response is sent once, later replies and writes are ignored', async (t) => {
  const x = startExchange()
  x.reply(201, 'first', ['x-a', '1'])
  x.reply(500, 'second')
  x.fail(new GatewayError('a', 500, 'third'))
  x.start(200, new HeaderList(), -1)
  x.write(Buffer.from('fourth'))
  x.end()
  x.abortWith(new GatewayError('a', 500, 'fifth'))
  t.equal(x.status, 201)
  t.equal(x.body, 'first')
  t.strictSame(x.replyHeaders.flat, ['x-a', '1', 'content-type', 'text/plain; charset=utf-8'])
  t.equal(x.finished, true)
  t.equal(x.aborted, false)
  t.equal(x.finishes, 1)
})

t.test(
  'text bodies without a content type get text/plain, other bodies get no content type',
  async (t) => {
    const cases: [Parameters<TestExchange['reply']>, readonly string[]][] = [
      [
        [200, '{}', ['Content-Type', 'application/json']],
        ['content-type', 'application/json'],
      ],
      [[200, Buffer.from('x')], []],
      [[204], []],
    ]
    for (const [reply, headers] of cases) {
      const x = startExchange()
      x.reply(...reply)
      t.strictSame(x.replyHeaders.flat, headers)
    }
    t.throws(() => startExchange().reply(200, '', ['a', 'b\r\nc: d']), TypeError)
  },
)

t.test(
  'an error response has its own headers and the content type that the client prefers',
  async (t) => {
    const x = startExchange({ headers: { accept: 'application/problem+json' } })
    x.fail(new GatewayError('a', 503, 'full', { headers: ['retry-after', '1'] }))
    t.strictSame(x.replyHeaders.flat, [
      'retry-after',
      '1',
      'content-type',
      'application/problem+json',
      'cache-control',
      'no-store',
    ])
    t.match(JSON.parse(x.body), { status: 503, detail: 'full' })
    const exchange = startExchange()
    exchange.fail(new GatewayError('a', 410, 'gone', { headers: ['cache-control', 'max-age=9'] }))
    t.equal(
      exchange.replyHeaders.get('cache-control'),
      'max-age=9',
      'the cache-control of the error takes precedence',
    )
  },
)

t.test(
  'a streamed response is written in pieces, and write returns false under back-pressure',
  async (t) => {
    const x = startExchange()
    const peer = createPeer()
    x.pipeTo(peer)
    x.start(200, new HeaderList(['a', 'b']), 10)
    t.equal(x.announcedLength, 10)
    t.equal(x.write(Buffer.from('12345')), true)
    x.writable = false
    t.equal(x.write(Buffer.from('67890')), false)
    x.drain()
    t.strictSame(peer.log, ['drain'])
    t.equal(x.finished, false)
    x.end()
    t.equal(x.body, '1234567890')
    t.equal(x.bytesOut, 10)
    t.equal(x.finishes, 1)
  },
)

t.test('onReply runs before the first byte of a response, onDone after the last one', async (t) => {
  const log: string[] = []
  const hooks: Partial<Plugin> = {
    onReply: (x) => {
      log.push(`reply ${x.status} ${x.bytesOut}`)
      x.status = 299
      x.replyHeaders.set('x-plugin', '1')
    },
    onDone: (x) => void log.push(`done ${x.status} ${x.bytesOut} ${x.aborted}`),
  }
  const x = startExchange({}, hooks)
  x.start(200, new HeaderList(), -1)
  x.write(Buffer.from('abc'))
  x.end()
  t.strictSame(log, ['reply 200 0', 'done 299 3 false'])
  t.strictSame(x.replyHeaders.flat, ['x-plugin', '1'])
})

t.test(
  'an onReply hook that throws replaces the response with a 500 and aborts the peer',
  async (t) => {
    const bug = new Error('bug')
    const throws: Partial<Plugin> = {
      onReply: () => {
        throw bug
      },
    }
    for (const streamed of [true, false]) {
      const x = startExchange({}, throws)
      const peer = createPeer()
      x.pipeTo(peer)
      if (streamed) x.start(200, new HeaderList(['secret', '1']), 5)
      else x.reply(200, 'secret', ['secret', '1'])
      t.equal(x.write(Buffer.from('secret')), true, 'later data of the backend is discarded')
      t.equal(x.status, 500)
      t.notMatch(x.body + x.replyHeaders.flat, /secret/)
      t.strictSame(peer.log, ['abort'])
      t.equal(x.finishes, 1)
      t.strictSame(x.faults, [bug, true, 'onReply'])
    }
    const x = startExchange(
      {},
      {
        onDone: () => {
          throw 'text'
        },
      },
      { onDone: (x) => void x.state.set('second', true) },
    )
    x.reply(200)
    t.equal(x.state.get('second'), true, 'the onDone hooks of later plugins run')
    t.equal(x.finishes, 1)
    t.strictSame(x.faults, ['text', true, 'onDone'])
    const rejection = new GatewayError('a', 403, 'not with me')
    const y = startExchange({}, { onReply: () => raise(rejection) })
    y.reply(200)
    t.equal(y.status, 403)
    t.strictSame(y.faults, [], 'a GatewayError is not reported as a fault')
  },
)

t.test(
  'after an onReply hook throws, the other onReply hooks run on the error response',
  async (t) => {
    const bug = new Error('bug')
    const throws: Partial<Plugin> = { onReply: () => raise(bug) }
    const sets: Partial<Plugin> = {
      onReply: (x) => {
        x.status = 299
        x.replyHeaders.set('x-request-id', 'a')
      },
    }
    for (const plugins of [
      [throws, sets],
      [sets, throws],
    ] as const) {
      const x = startExchange({}, ...plugins)
      x.reply(200, 'secret', ['secret', '1'])
      t.equal(x.status, 500)
      t.equal(x.replyHeaders.get('x-request-id'), 'a')
      t.strictSame(x.faults, [bug, true, 'onReply'])
    }
    const twice = startExchange({}, throws, throws)
    twice.reply(200)
    t.equal(twice.status, 500)
    t.equal(twice.finishes, 1)
  },
)

t.test('a client disconnect aborts the exchange and its peer once', async (t) => {
  const x = startExchange()
  const peer = createPeer()
  x.pipeTo(peer)
  x.disconnect()
  x.disconnect()
  x.reply(200, 'late')
  t.strictSame(peer.log, ['abort'])
  t.equal(x.aborted, true)
  t.equal(x.answered, true)
  t.equal(x.status, 0)
  t.equal(x.finishes, 1)
})

t.test(
  'abortWith sends an error before the response starts, and closes the connection afterwards',
  async (t) => {
    const early = startExchange()
    const peer = createPeer()
    early.pipeTo(peer)
    early.abortWith(new GatewayError('a', 504, 'slow'))
    t.equal(early.status, 504)
    t.equal(early.wasCut, false)
    t.strictSame(peer.log, ['abort'])
    const late = startExchange()
    const latePeer = createPeer()
    late.pipeTo(latePeer)
    late.start(200, new HeaderList(), -1)
    late.abortWith(new GatewayError('a', 502, 'broken'))
    t.equal(late.wasCut, true)
    t.equal(late.aborted, true)
    t.strictSame(latePeer.log, ['abort'])
  },
)

t.test(
  'body chunks received before the peer is attached are delivered to it in order',
  async (t) => {
    const x = startExchange({ method: 'POST', body: 'ignored', chunked: true })
    const memory = Buffer.from('one')
    x.sendBody(memory, false)
    memory.fill('x')
    x.sendBody('two', false)
    const peer = createPeer()
    x.pipeTo(peer)
    t.strictSame(peer.log, ['one', 'two'])
    x.sendBody('three', true)
    t.strictSame(peer.log, ['one', 'two', 'three last'])
    t.equal(x.bytesIn, 11)
    const complete = startExchange({ method: 'POST', body: 'x', chunked: true })
    complete.sendBody('all', false)
    complete.sendBody('', true)
    const second = createPeer()
    complete.pipeTo(second)
    t.strictSame(second.log, ['all', ' last'])
  },
)

t.test(
  'reading pauses while too much body is buffered, and resumes when a peer is attached',
  async (t) => {
    const x = startExchange({ method: 'POST', body: 'x', chunked: true })
    x.sendBody(Buffer.alloc(60_000), false)
    t.equal(x.paused, false)
    x.sendBody(Buffer.alloc(60_000), false)
    t.equal(x.paused, true)
    x.pipeTo(createPeer())
    t.equal(x.paused, false)
    x.pauseBody()
    t.equal(x.paused, true)
    x.resumeBody()
    t.equal(x.paused, false)
    x.sendBody('', true)
    x.pauseBody()
    t.equal(x.paused, false, 'a complete body is not paused')
  },
)

t.test(
  'reading pauses when a body arrives byte by byte and its chunks use too much memory',
  async (t) => {
    const x = startExchange({ method: 'POST', body: 'x', chunked: true })
    let sent = 0
    while (!x.paused && sent < 1000) {
      x.sendBody('a', false)
      sent++
    }
    t.equal(x.paused, true)
    t.ok(sent > 100, 'a few chunks are buffered')
    const peer = createPeer()
    x.pipeTo(peer)
    t.equal(peer.log.length, sent)
    t.equal(x.paused, false)
  },
)

t.test('rejects a body over the limit with 413 and aborts the peer', async (t) => {
  const x = startExchange({ method: 'POST', body: 'x', chunked: true })
  x.bodyLimit = 5
  const peer = createPeer()
  x.pipeTo(peer)
  x.sendBody('12345', false)
  x.sendBody('6', false)
  x.sendBody('7', true)
  t.equal(x.status, 413)
  t.match(JSON.parse(x.body), { Detail: 'request body exceeds the limit of 5 bytes' })
  t.strictSame(peer.log, ['12345', 'abort'])
})

t.test(
  'readBody returns the complete body, and a peer attached later also receives it',
  async (t) => {
    const x = startExchange({ method: 'POST', body: 'x', chunked: true })
    x.sendBody('one ', false)
    const reading = x.readBody()
    x.sendBody('two', true)
    t.equal((await reading).toString(), 'one two')
    const peer = createPeer()
    x.pipeTo(peer)
    t.strictSame(peer.log, ['one two last'])
    t.equal((await startExchange().readBody()).length, 0)
  },
)

t.test(
  'readBody rejects with 413 for a body over its limit, and with 400 on a client disconnect',
  async (t) => {
    await t.rejects(startExchange({ method: 'POST', body: '12345' }).readBody(4), { code: 413 })
    const x = startExchange({ method: 'POST', body: 'x', chunked: true })
    const reading = x.readBody(4)
    x.sendBody('123', false)
    x.sendBody('45', false)
    await t.rejects(reading, { code: 413 })
    const unread = startExchange({ method: 'POST', body: '12345' })
    const pending = unread.readBody()
    unread.disconnect()
    await t.rejects(pending, { code: 400 })
  },
)

t.test('a body over the limit of readBody stays available for readBody and the peer', async (t) => {
  const x = startExchange({ method: 'POST', body: 'x', chunked: true })
  x.sendBody('one ', false)
  x.sendBody('two ', false)
  await t.rejects(x.readBody(6), { code: 413 })
  x.sendBody('three ', false)
  const reading = x.readBody()
  x.sendBody('four', true)
  t.equal((await reading).toString(), 'one two three four')
  const peer = createPeer()
  x.pipeTo(peer)
  t.strictSame(peer.log, ['one two three four last'])

  const large = startExchange({ method: 'POST', body: 'x', chunked: true })
  const failing = t.rejects(large.readBody(6), { code: 413 })
  large.sendBody('a'.repeat(1024 * 1024), false)
  await failing
  t.equal(large.paused, true, 'reading pauses as for any other peer')
  const late = createPeer()
  large.pipeTo(late)
  t.equal(large.paused, false)
  t.equal(late.log[0]?.length, 1024 * 1024)
})

t.test('an exchange has target, clientAddress, remoteAddress and elapsedMs', async (t) => {
  const x = startExchange({ path: '/a?b=c', remoteAddress: '10.0.0.1' })
  t.equal(x.target, '/a?b=c')
  t.equal(startExchange({ path: '/a' }).target, '/a')
  t.equal(x.clientAddress, '10.0.0.1')
  x.clientAddress = '192.0.2.1'
  t.equal(x.clientAddress, '192.0.2.1')
  t.equal(x.remoteAddress, '10.0.0.1')
  t.ok(x.elapsedMs >= 0)
  t.equal(x.state, x.state)
})
