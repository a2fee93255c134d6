import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { BodyStream } from '../../../../sdk/client/streams/body-stream.ts'
import { eventually } from '../../../fixtures/eventually.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Creates a stream of strings that counts consumed bytes. */
function create(): { stream: BodyStream; consumed: () => number } {
  let bytes = 0
  const stream = new BodyStream({
    decode(body) {
      const text = Buffer.from(body as Uint8Array).toString()
      if (text === 'bad') throw new TypeError('bad')
      return text
    },
    onConsumed: (count) => {
      bytes += count
    },
  })
  return { stream, consumed: () => bytes }
}

async function readAll(stream: BodyStream): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

t.test('bodies are read in order, whether queued or awaited', async (t) => {
  const { stream } = create()
  stream.push(Buffer.from('a'))
  stream.push(Buffer.from('b'))
  const all = readAll(stream)
  await new Promise(setImmediate)
  stream.push(Buffer.from('c'))
  stream.push(Buffer.from('d'))
  stream.end()
  t.strictSame(await all, ['a', 'b', 'c', 'd'])
})

t.test('a slow reader retains only queued bodies', async (t) => {
  let collected = 0
  const registry = new FinalizationRegistry(() => collected++)
  const stream = new BodyStream({ decode: (body) => body, onConsumed() {} })
  let next = 0
  const push = (): void => {
    const body = { n: next++ }
    registry.register(body, undefined)
    stream.push(body)
  }
  for (let i = 0; i < 10; i++) push()
  for (let i = 0; i < 2000; i++) {
    const { n } = (await stream.next()).value as { n: number }
    if (n !== i) t.fail(`${i} is in the wrong position`)
    push()
  }
  await eventually(async () => {
    collect()
    return collected >= 2000 - 256
  })
})

t.test('the memory of a pushed body can be reused immediately', async (t) => {
  const { stream } = create()
  const memory = Buffer.from('aa')
  stream.push(memory)
  memory.fill('x')
  t.strictSame(await stream.next(), { done: false, value: 'aa' })
  const pending = stream.next()
  memory.fill('b')
  stream.push(memory)
  memory.fill('x')
  t.strictSame(await pending, { done: false, value: 'bb' })
})

t.test('a queued body counts as consumed when it is read', async (t) => {
  const { stream, consumed } = create()
  stream.push(Buffer.from('abc'))
  t.equal(consumed(), 0)
  await stream.next()
  t.equal(consumed(), 3)
  const pending = stream.next()
  stream.push(Buffer.from('d'))
  t.equal(consumed(), 4, 'immediately with a pending read')
  await pending
})

t.test('a decode error fails the read of its body, and earlier bodies are read', async (t) => {
  const { stream } = create()
  stream.push(Buffer.from('a'))
  stream.push(Buffer.from('bad'))
  t.strictSame(await stream.next(), { done: false, value: 'a' })
  await t.rejects(stream.next(), { message: 'bad' })
})

t.test('a failed call rejects pending reads and drops queued bodies', async (t) => {
  const error = new Error('connection lost')
  const waiting = create().stream
  const pending = waiting.next()
  waiting.fail(error)
  await t.rejects(pending, error)
  await t.rejects(waiting.next(), error)
  const full = create().stream
  full.push(Buffer.from('a'))
  full.fail(error)
  await t.rejects(full.next(), error, 'queued bodies are dropped')
})

t.test('bodies after the loop or the end are dropped', async (t) => {
  const { stream, consumed } = create()
  stream.push(Buffer.from('a'))
  stream.push(Buffer.from('b'))
  for await (const value of stream) {
    t.equal(value, 'a')
    break
  }
  stream.push(Buffer.from('c'))
  t.strictSame(await stream.next(), { done: true, value: undefined })
  t.equal(consumed(), 1)
  const ended = create().stream
  ended.end()
  ended.push(Buffer.from('a'))
  t.strictSame(await readAll(ended), [])
})

t.test('two concurrent loops are rejected', async (t) => {
  const { stream } = create()
  const first = stream.next()
  await t.rejects(stream.next(), /one loop at a time/)
  stream.end()
  t.strictSame(await first, { done: true, value: undefined })
})

t.test('bodies that precede a lost connection are read before its error', async (t) => {
  const { stream } = create()
  stream.push(Buffer.from('a'))
  stream.push(Buffer.from('b'))
  stream.break(new Error('lost'))
  stream.push(Buffer.from('c'))
  t.strictSame(await stream.next(), { done: false, value: 'a' })
  t.strictSame(await stream.next(), { done: false, value: 'b' })
  await t.rejects(stream.next(), { message: 'lost' })
  const waiting = create().stream
  const next = waiting.next()
  waiting.break(new Error('lost'))
  await t.rejects(next, { message: 'lost' })
})

t.test('a value within the process is passed on unchanged', async (t) => {
  const sizes: number[] = []
  const stream = new BodyStream({ decode: (body) => body, onConsumed: (n) => void sizes.push(n) })
  const value = { a: 1 }
  stream.push(value)
  stream.push('text')
  stream.end()
  const { value: first } = await stream.next()
  t.equal(first, value)
  t.strictSame(await readAll(stream), ['text'])
  t.strictSame(sizes, [0, 0])
})

t.test('the source can convert the error of a failure', async (t) => {
  const stream = new BodyStream({
    decode: (body) => body,
    onConsumed: () => {},
    reject: (error) => Promise.reject(new Error('told', { cause: error })),
  })
  const waiting = stream.next()
  stream.break('why')
  for (const next of [waiting, stream.next()])
    await t.rejects(next, { message: 'told', cause: 'why' })
})
