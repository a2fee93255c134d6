import t from 'tap'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openGreeterGateway } from '../../fixtures/greeter-gateway.ts'
import { openMxService } from '../../fixtures/mx-service.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

const HEADERS = { accept: 'text/event-stream' }

t.test('streams one event per message and an end event for text/event-stream', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const rows: [string, string][] = [
    ['count?to=2', 'data: {"n":1}\n\ndata: {"n":2}\n\nevent: end\ndata: {}\n\n'],
    ['count?to=0', 'event: end\ndata: {}\n\n'],
    [
      'broken?code=409',
      'data: {"n":1}\n\nevent: error\ndata: {"Id":"greeter.own","Code":409,"Detail":"as requested","Status":"Conflict"}\n\n',
    ],
  ]
  for (const accept of ['text/event-stream', 'text/event-stream, application/json;q=0.5']) {
    for (const [path, body] of rows) {
      const reply = await fetch(`${origin}/greeter/${path}`, { headers: { accept } })
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('content-type'), 'text/event-stream')
      t.equal(reply.headers.get('cache-control'), 'no-store')
      t.equal(await reply.text(), `:\n\n${body}`, path)
    }
  }
})

t.test('a unary endpoint ignores text/event-stream', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const reply = await fetch(`${origin}/greeter/hello?name=x`, { headers: HEADERS })
  t.equal(reply.headers.get('content-type'), 'application/json')
  t.strictSame(await reply.json(), { message: 'Hello x' })
})

t.test('joins a multi-line document to one event', async (t) => {
  const service = await openMxService(t, createGreeter(), {
    intercept: (call) => {
      call.sendData('{\n"a": 1,\r\n\r\n"b": 2\r}')
      call.endData()
      return true
    },
  })
  const { origin } = await openRpcGateway(t, [service.entry])
  const text = await (await fetch(`${origin}/greeter/forever`, { headers: HEADERS })).text()
  const [opening, event, ...more] = text.split('\n\n')
  t.equal(opening, ':')
  t.strictSame(JSON.parse(event!.slice('data: '.length)), { a: 1, b: 2 })
  t.strictSame(more, ['event: end\ndata: {}', ''])
})

t.test('formats an empty document as {}', async (t) => {
  const service = await openMxService(t, createGreeter(), {
    intercept: (call) => {
      call.sendData('')
      call.endData()
      return true
    },
  })
  const { origin } = await openRpcGateway(t, [service.entry])
  const reply = await fetch(`${origin}/greeter/forever`, { headers: HEADERS })
  t.equal(await reply.text(), ':\n\ndata: {}\n\nevent: end\ndata: {}\n\n')
})

for (const [name, listener] of Object.entries({
  node: createNodeListener,
  uws: createUwsListener,
})) {
  t.test(`listener ${name}: opens a stream before its first event`, async (t) => {
    const service = await openMxService(t, createGreeter(), {
      intercept: (call) => {
        call.start('')
        return true
      },
    })
    const { origin } = await openRpcGateway(t, [service.entry], { listener })
    const disconnect = new AbortController()
    t.teardown(() => disconnect.abort())
    const reply = await fetch(`${origin}/greeter/forever`, {
      headers: HEADERS,
      signal: disconnect.signal,
    })
    t.equal(reply.headers.get('content-type'), 'text/event-stream')
    const { value } = await reply.body!.getReader().read()
    t.equal(Buffer.from(value!).toString(), ':\n\n')
  })
}
