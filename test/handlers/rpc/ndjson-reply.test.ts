import t from 'tap'
import { createGreeter } from '../../fixtures/greeter.ts'
import { openGreeterGateway } from '../../fixtures/greeter-gateway.ts'
import { openMxService } from '../../fixtures/mx-service.ts'
import { openRpcGateway } from '../../fixtures/rpc-gateway.ts'

t.test('streams one JSON document per line, an error as the last line', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const rows: [string, string][] = [
    ['count?to=2', '{"n":1}\n{"n":2}\n'],
    ['count?to=0', ''],
    [
      'broken?code=409',
      '{"n":1}\n{"error":{"Id":"greeter.own","Code":409,"Detail":"as requested","Status":"Conflict"}}\n',
    ],
    [
      'broken?code=0',
      '{"n":1}\n{"error":{"Id":"go.mx.api.greeter","Code":500,"Detail":"internal error","Status":"Internal Server Error"}}\n',
    ],
  ]
  for (const [path, body] of rows) {
    const reply = await fetch(`${origin}/greeter/${path}`)
    t.equal(reply.status, 200)
    t.equal(reply.headers.get('content-type'), 'application/x-ndjson')
    t.equal(reply.headers.get('cache-control'), 'no-store')
    t.equal(reply.headers.get('x-accel-buffering'), 'no', 'disables the buffering of proxies')
    t.equal(await reply.text(), body, path)
  }
})

t.test('streams for a request with a body', async (t) => {
  const { origin } = await openGreeterGateway(t)
  const reply = await fetch(`${origin}/greeter/count`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"to":2}',
  })
  t.equal(await reply.text(), '{"n":1}\n{"n":2}\n')
})

t.test('joins a multi-line document to one line', async (t) => {
  const service = await openMxService(t, createGreeter(), {
    intercept: (call) => {
      call.sendData('{\n  "a": "\\n",\r\n  "b": 1\n}')
      call.endData()
      return true
    },
  })
  const { origin } = await openRpcGateway(t, [service.entry])
  const text = await (await fetch(`${origin}/greeter/forever`)).text()
  t.equal(text, '{   "a": "\\n",    "b": 1 }\n')
  t.strictSame(JSON.parse(text), { a: '\n', b: 1 })
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
  const reply = await fetch(`${origin}/greeter/forever`)
  t.equal(await reply.text(), '{}\n')
})
