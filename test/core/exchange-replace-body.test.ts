import t from 'tap'
import { bodyMemory } from '../../core/limits/memory-budget.ts'
import { createTestExchange } from '../../sdk/testing.ts'

t.test('a later reader receives the new body instead of the received body', async (t) => {
  const before = bodyMemory.usedBytes
  const x = createTestExchange({
    method: 'POST',
    body: '12345',
    headers: { 'content-digest': 'sha-256=:a:', digest: 'md5=a', 'content-md5': 'a' },
  })
  const read = x.readBody(10)
  x.sendBody('123', false)
  x.sendBody('45', true)
  t.equal((await read).toString(), '12345')
  x.replaceBody('new body')
  t.equal(x.bodyLength, 8)
  t.equal(x.bytesIn, 5)
  t.strictSame(x.headers.flat, [], 'without digests')
  t.equal(bodyMemory.usedBytes, before + 8)
  t.equal((await x.readBody(10)).toString(), 'new body')
  const chunks: string[] = []
  x.pipeTo({
    onRequestBody: (chunk, last) => chunks.push(`${Buffer.from(chunk)}${last ? ' last' : ''}`),
    onDrain: () => {},
    onAbort: () => {},
  })
  t.strictSame(chunks, ['new body last'])
  x.disconnect()
  t.equal(bodyMemory.usedBytes, before)
})

t.test('a chunked body gets a length, and an empty body removes it', async (t) => {
  const x = createTestExchange({ method: 'POST', body: 'a', chunked: true })
  t.equal(x.bodyLength, -1)
  const read = x.readBody()
  x.sendBody('a', true)
  await read
  x.replaceBody(Buffer.from('abc'))
  t.equal(x.bodyLength, 3)
  x.replaceBody('')
  t.equal(x.bodyLength, 0)
  t.equal((await x.readBody()).length, 0)
  x.disconnect()
})

t.test('a body that was not read cannot be replaced', async (t) => {
  const x = createTestExchange({ method: 'POST', body: 'abc' })
  t.throws(() => x.replaceBody('b'), /requires a preceding readBody/)
  x.disconnect()
})

t.test('rejects a new body beyond the memory of the process with 503', async (t) => {
  const { maxBytes } = bodyMemory
  t.teardown(() => {
    bodyMemory.maxBytes = maxBytes
  })
  const x = createTestExchange({ method: 'POST', body: 'abc' })
  const read = x.readBody()
  x.sendBody('abc', true)
  await read
  bodyMemory.maxBytes = bodyMemory.usedBytes + 3
  t.throws(() => x.replaceBody('abcd'), { code: 503 })
  x.replaceBody('ABC')
  t.equal((await x.readBody()).toString(), 'ABC')
  x.disconnect()
})
