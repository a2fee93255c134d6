import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { finished } from 'node:stream/promises'
import t from 'tap'
import { createAnswerSink } from '../../../../adapters/registry/consul/answer-sink.ts'

function makeResponse(complete: boolean): IncomingMessage {
  const response = new IncomingMessage(new Socket())
  response.headers['x-consul-index'] = '7'
  response.complete = complete
  return response
}

t.test('an answer is collected, with its header', async (t) => {
  const sink = createAnswerSink(6, () => t.fail('cancelled'))
  const response = makeResponse(true)
  response.pipe(sink.stream)
  response.push('abc')
  response.push('def')
  response.push(null)
  await finished(sink.stream)
  t.equal(Buffer.concat(sink.chunks).toString(), 'abcdef')
  t.equal(sink.headers()['x-consul-index'], '7')
  t.equal(sink.problem(), undefined)
})

t.test('more than it takes is not kept, and cancelled once', async (t) => {
  let cancelled = 0
  const sink = createAnswerSink(4, () => cancelled++)
  for (let i = 0; i < 3; i++) sink.stream.write('abc')
  t.equal(Buffer.concat(sink.chunks).toString(), 'abc')
  t.equal(sink.problem(), "Consul's answer is longer than 4 bytes")
  t.equal(cancelled, 1)
})

t.test('a connection that ends in the middle cancels', async (t) => {
  const cancelled = new Promise<void>((resolve) => {
    const sink = createAnswerSink(4, () => {
      t.match(sink.problem(), /ended in the middle/)
      resolve()
    })
    const response = makeResponse(false)
    response.pipe(sink.stream)
    response.destroy()
  })
  await cancelled
})
