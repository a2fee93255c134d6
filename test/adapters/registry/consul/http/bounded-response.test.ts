import { once } from 'node:events'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import t from 'tap'
import { ResponseSink } from '../../../../../adapters/registry/consul/http/bounded-response.ts'

function makeResponse(complete: boolean): IncomingMessage {
  const response = new IncomingMessage(new Socket())
  response.headers['x-consul-index'] = '7'
  response.complete = complete
  return response
}

function createSink(maxBytes: number, cancel: () => void): ResponseSink {
  return new ResponseSink(maxBytes).on('cancel', cancel)
}

t.test('collects a response with its headers', async (t) => {
  const sink = createSink(6, () => t.fail('must not be cancelled'))
  const response = makeResponse(true)
  response.pipe(sink as unknown as Writable)
  response.push('abc')
  response.push('def')
  response.push(null)
  await once(response, 'end')
  t.equal(Buffer.concat(sink.chunks).toString(), 'abcdef')
  t.equal(sink.headers['x-consul-index'], '7')
  t.equal(sink.problem, undefined)
})

t.test('cancels once and drops data beyond the limit', async (t) => {
  let cancelled = 0
  const sink = createSink(4, () => cancelled++)
  for (let i = 0; i < 3; i++) sink.write(Buffer.from('abc'))
  t.equal(Buffer.concat(sink.chunks).toString(), 'abc')
  t.equal(sink.problem, 'the Consul response exceeds the limit of 4 bytes')
  t.equal(cancelled, 1)
})

t.test('cancels when the connection closes within a response', async (t) => {
  const cancelled = new Promise<void>((resolve) => {
    const sink = createSink(4, () => {
      t.match(sink.problem, /closed before the response was complete/)
      resolve()
    })
    const response = makeResponse(false)
    response.pipe(sink as unknown as Writable)
    response.destroy()
  })
  await cancelled
})

t.test('collects a large response in pieces', async (t) => {
  const sink = createSink(1_000_000, () => t.fail('must not be cancelled'))
  const body = Buffer.from(Array.from({ length: 30_000 }, (_, i) => i).join())
  for (let at = 0; at < body.length; at += 4093) sink.write(body.subarray(at, at + 4093))
  t.ok(body.length > 131_072, 'more than two blocks')
  t.equal(sink.chunks.length, 3)
  t.same(Buffer.concat(sink.chunks), body)
})

t.test('reuses the memory of a released response', async (t) => {
  const collect = (text: string): ResponseSink => {
    const sink = createSink(100, () => t.fail('must not be cancelled'))
    sink.write(Buffer.from(text))
    return sink
  }
  const first = collect('abc')
  const memory = getPosition(first.chunks[0])
  const other = collect('def')
  t.not(getPosition(other.chunks[0]), memory, 'not reused before the release')
  first.release()
  first.release()
  t.same(first.chunks, [])
  const [next, last] = [collect('ghi'), collect('jkl')]
  t.equal(getPosition(next.chunks[0]), memory)
  t.not(getPosition(last.chunks[0]), memory, 'reused once')
  t.same(
    [other, next, last].map((sink) => Buffer.concat(sink.chunks).toString()),
    ['def', 'ghi', 'jkl'],
  )
})

t.test('releases all memory of a large response', async (t) => {
  const collect = (bytes: number): ResponseSink => {
    const sink = createSink(1_000_000, () => t.fail('must not be cancelled'))
    sink.write(Buffer.alloc(bytes))
    return sink
  }
  const listPositions = (sink: ResponseSink) => new Set(sink.chunks.map(getPosition))
  const long = collect(200_000)
  const input = listPositions(long)
  t.equal(input.size, 4)
  long.release()
  t.same(long.chunks, [])
  t.same(listPositions(collect(200_000)), input)
})

/** Start of a chunk in its buffer. Blocks are parts of large buffers, and this file needs one buffer. */
function getPosition(chunk: Buffer | undefined): number | undefined {
  return chunk?.byteOffset
}
