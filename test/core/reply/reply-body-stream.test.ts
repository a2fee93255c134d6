import { Duplex, Transform } from 'node:stream'
import { createGunzip, createGzip, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { replyMemory } from '../../../core/limits/memory-budget.ts'
import { compileChain } from '../../../core/plugin/compile-chain.ts'
import { createTestExchange, type TestExchange, type TestRequest } from '../../../sdk/testing.ts'

const gzip: Plugin = {
  name: 'gzip',
  onReplyBody: () => ({ coding: 'gzip', createStream: () => createGzip({ level: 1 }) }),
}

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

const unzip = ({ chunks }: TestExchange): string => gunzipSync(Buffer.concat(chunks)).toString()

t.test('a streamed body passes through the stream of a plugin', async (t) => {
  const before = replyMemory.usedBytes
  const { x } = startReply(t, {}, gzip)
  x.start(200, new HeaderList(['etag', '"1"', 'accept-ranges', 'bytes']), 4)
  const chunk = Buffer.from('ab')
  x.write(chunk)
  chunk.fill(0)
  x.write(Buffer.from('cd'))
  x.end()
  t.equal(x.finished, false)
  await x.done
  t.equal(unzip(x), 'abcd')
  t.equal(x.bytesOut, Buffer.concat(x.chunks).length)
  t.equal(x.announcedLength, -1)
  t.strictSame(x.replyHeaders.flat, ['etag', 'W/"1"', 'content-encoding', 'gzip'])
  t.equal(replyMemory.usedBytes, before)
})

t.test('a complete body is streamed, after buffered changes of any plugin', async (t) => {
  const upper: Plugin = {
    name: 'upper',
    onReplyBody: (x) => {
      t.equal(x.replyHeaders.has('content-encoding'), false)
      return { maxBytes: 10, change: (body) => body.toString().toUpperCase() }
    },
  }
  const { x } = startReply(t, {}, gzip, upper)
  x.reply(200, 'abc')
  await x.done
  t.equal(unzip(x), 'ABC')
})

t.test('streams of several plugins are applied in the order of the list', async (t) => {
  const double: Plugin = {
    name: 'double',
    onReplyBody: () => ({
      createStream: () =>
        new Transform({
          transform: (chunk: Buffer, _encoding, done) => done(null, Buffer.concat([chunk, chunk])),
        }),
    }),
  }
  const { x } = startReply(t, {}, double, gzip, {
    name: 'gunzip',
    onReplyBody: () => ({ createStream: () => createGunzip() }),
  })
  x.reply(200, 'ab')
  await x.done
  t.equal(x.body, 'abab')
})

t.test('responses without a body create no stream', async (t) => {
  const closed: Plugin = {
    name: 'closed',
    onReplyBody: () => ({
      createStream: () => {
        throw new Error('unexpected')
      },
    }),
  }
  for (const [method, status] of [
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ] as const) {
    for (const isComplete of [true, false]) {
      const { x } = startReply(t, { method }, closed)
      if (isComplete) x.reply(status, method === 'HEAD' ? 'abc' : '')
      else {
        x.start(status, new HeaderList(), 3)
        x.end()
      }
      await x.done
      t.equal(x.status, status)
      t.equal(x.announcedLength, -1)
      t.equal(x.body, '')
    }
  }
})

t.test('trailers are sent after the changed body', async (t) => {
  const { x } = startReply(t, {}, gzip)
  let trailers: HeaderList | undefined
  Object.assign(x, {
    transmitEnd(list?: HeaderList) {
      trailers = list
      x.disconnect()
    },
  })
  x.start(200, new HeaderList(), -1)
  x.end(new HeaderList(['x-sum', '1']))
  await x.done
  t.strictSame(trailers?.flat, ['x-sum', '1'])
})

t.test('a slow client pauses the stream, and then the sender', async (t) => {
  const { x } = startReply(
    t,
    {},
    {
      name: 'pass',
      onReplyBody: () => ({
        createStream: () =>
          new Transform({
            ...{ readableHighWaterMark: 4, writableHighWaterMark: 4 },
            transform: (chunk: Buffer, _encoding, done) => done(null, chunk),
          }),
      }),
    },
  )
  const drained = new Promise<void>((resolve) =>
    x.setPeer({ onRequestBody: () => {}, onDrain: resolve, onAbort: () => {} }),
  )
  x.writable = false
  x.start(200, new HeaderList(), -1)
  let sent = 0
  while (x.write(Buffer.from('abcd')) && sent < 100) {
    sent++
    await new Promise(setImmediate)
  }
  t.ok(sent < 5, `${sent} chunks accepted`)
  const length = x.bytesOut
  await new Promise(setImmediate)
  t.equal(x.bytesOut, length, 'nothing is sent while the client is slow')
  x.drain()
  await drained
  x.end()
  await x.done
  t.equal(x.bytesOut, (sent + 1) * 4)
})

t.test('a client that disconnects destroys the stream and frees its memory', async (t) => {
  const before = replyMemory.usedBytes
  const stream = new Duplex({ read: () => {}, write: () => {} })
  const { x } = startReply(
    t,
    {},
    { name: 'stuck', onReplyBody: () => ({ createStream: () => stream }) },
  )
  x.start(200, new HeaderList(), -1)
  x.write(Buffer.alloc(1000))
  x.write(Buffer.alloc(1000))
  t.equal(replyMemory.usedBytes, before + 2000)
  x.disconnect()
  t.equal(stream.destroyed, true)
  t.equal(replyMemory.usedBytes, before)
  x.write(Buffer.alloc(1000))
  x.end()
  t.equal(replyMemory.usedBytes, before)
})

t.test('a failure of the sender closes the connection, and nothing more is sent', async (t) => {
  const { x } = startReply(t, {}, gzip)
  x.start(200, new HeaderList(), -1)
  x.write(Buffer.from('abc'))
  x.abortWith(new GatewayError('test', 502, 'lost'))
  await x.done
  t.equal(x.wasCut, true)
  t.equal(x.bytesOut, 0)
})

t.test('a stream that cannot be created results in 500', async (t) => {
  const bug = new Error('bug')
  const { x, faults } = startReply(t, {}, gzip, {
    name: 'faulty',
    onReplyBody: () => ({
      createStream: () => {
        throw bug
      },
    }),
  })
  x.reply(200, 'abc')
  await x.done
  t.equal(x.status, 500)
  t.notMatch(x.body, /bug/)
  t.strictSame(faults, [bug, { plugin: 'faulty', hook: 'onReplyBody' }])
})

t.test('a stream that fails closes the connection, and the error is reported', async (t) => {
  const bug = new Error('bug')
  const { x, faults } = startReply(t, {}, gzip, {
    name: 'faulty',
    onReplyBody: () => ({
      createStream: () => new Transform({ transform: (_chunk, _encoding, done) => done(bug) }),
    }),
  })
  x.reply(200, 'abc')
  await x.done
  t.equal(x.wasCut, true)
  t.strictSame(faults, [bug, { plugin: 'faulty', hook: 'onReplyBody' }])
})

t.test('a complete body beyond the memory of slow clients results in 503', async (t) => {
  const { maxBytes } = replyMemory
  t.teardown(() => {
    replyMemory.maxBytes = maxBytes
  })
  replyMemory.maxBytes = 1024 * 1024
  const { x } = startReply(t, {}, gzip)
  x.reply(200, Buffer.alloc(2 * 1024 * 1024))
  await x.done
  t.equal(x.status, 503)
})
