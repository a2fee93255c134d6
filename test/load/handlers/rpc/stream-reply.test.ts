import t from 'tap'
import { LISTENERS } from '../../../fixtures/gateway.ts'
import { openGreeterGateway } from '../../../fixtures/greeter-gateway.ts'
import { FORMS } from '../../../fixtures/mx-service.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { openStream, settled } from '../../../fixtures/streams.ts'

/** Maximum number of 1 KiB messages in socket buffers between a service and a client that does not read. */
const BUFFERED_MAX = 40_000

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of FORMS) {
    t.test(`${name}, ${protocol}: forwards messages immediately`, async (t) => {
      const { origin } = await openGreeterGateway(t, { listener }, { protocol })
      const stream = await openStream(t, `${origin}/greeter/quiet`)
      t.equal(stream.status, 200)
      t.equal(await stream.waitUntil((text) => text.endsWith('\n')), '{"n":1}\n')
      t.notOk(stream.complete())
    })

    t.test(
      `${name}, ${protocol}: a disconnect of the client ends the stream of the service`,
      async (t) => {
        const { origin, log, gateway } = await openGreeterGateway(t, { listener }, { protocol })
        for (const path of ['quiet', 'forever']) {
          const stream = await openStream(t, `${origin}/greeter/${path}`)
          await stream.waitUntil((text) => text.includes('\n'))
          stream.disconnect()
        }
        await waitUntil(() => log.aborted.length === 1 && log.closed === 1)
        t.same(log.aborted, ['AbortError'])
        await gateway.gateway.idle()
        t.same(
          gateway.exchanges.map(({ aborted }) => aborted),
          [true, true],
        )
      },
    )

    t.test(`${name}, ${protocol}: a slow reader slows only its own stream`, async (t) => {
      const { origin, log, gateway } = await openGreeterGateway(t, { listener }, { protocol })
      const slow = await openStream(t, `${origin}/greeter/forever`)
      const pending = await settled(() => log.yieldedCount)
      t.ok(pending < BUFFERED_MAX, `${pending} messages were accepted`)
      const fast = await openStream(t, `${origin}/greeter/count?to=3000`)
      t.equal((await fast.end()).split('\n').length, 3001)
      const other = await fetch(`${origin}/greeter/hello?name=x`)
      t.strictSame(await other.json(), { message: 'Hello x' })
      await slow.waitUntil((text) => text.length > (pending + 1000) * 1100)
      t.ok(log.yieldedCount > pending)
      const lines = slow.text().split('\n').slice(0, -1)
      t.ok(
        lines.every((line, i) => line.startsWith(`{"n":${i + 1},`)),
        'no message was lost',
      )
      slow.disconnect()
      await waitUntil(() => log.closed === 1)
      t.equal(gateway.faults.length, 0)
    })

    t.test(`${name}, ${protocol}: forwards empty and long streams`, async (t) => {
      const { origin } = await openGreeterGateway(t, { listener }, { protocol })
      const empty = await openStream(t, `${origin}/greeter/count?to=0`)
      t.equal(empty.status, 200)
      t.equal(await empty.end(), '')
      t.ok(empty.complete())
      const long = await openStream(t, `${origin}/greeter/count?to=100000`)
      const text = await long.end()
      t.ok(text.endsWith('{"n":100000}\n'))
      t.equal(text.split('\n').length, 100_001)
      t.ok(long.complete())
    })

    t.test(`${name}, ${protocol}: returns an HTTP error before the first message`, async (t) => {
      const { origin } = await openGreeterGateway(t, { listener }, { protocol })
      const reply = await fetch(`${origin}/greeter/count?to=x`)
      t.match(await reply.json(), { Id: 'go.mx.api.greeter', Code: 400 })
      const missing = await fetch(`${origin}/greeter/count`, {
        headers: { accept: 'text/event-stream' },
      })
      t.equal(missing.status, 400)
      t.equal(missing.headers.get('content-type'), 'application/json')
      t.match(await missing.json(), { Code: 400, Status: 'Bad Request' })
    })

    t.test(
      `${name}, ${protocol}: reports a crashed service at the end of the stream`,
      async (t) => {
        const { origin, service } = await openGreeterGateway(t, { listener }, { protocol })
        const stream = await openStream(t, `${origin}/greeter/quiet`)
        await stream.waitUntil((text) => text.includes('\n'))
        await service.kill()
        const last = (await stream.end()).split('\n').at(-2)!
        t.strictSame(JSON.parse(last), {
          error: {
            Id: 'go.mx.api.greeter',
            Code: 502,
            Detail: 'bad gateway: the service closed the connection',
            Status: 'Bad Gateway',
          },
        })
      },
    )
  }

  t.test(`${name}: HEAD ends the stream`, async (t) => {
    const { origin, log, gateway } = await openGreeterGateway(t, { listener })
    for (const path of ['forever', 'quiet', 'count?to=0', 'count?to=2']) {
      const reply = await fetch(`${origin}/greeter/${path}`, { method: 'HEAD' })
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('content-type'), 'application/x-ndjson')
    }
    await waitUntil(() => log.closed === 1 && log.aborted.length === 1)
    const [node] = (await gateway.directory.find('go.mx.api.greeter'))!.nodes
    t.equal(node?.active, 0)
    t.equal(node?.caller.pending, 0)
  })
}

t.test('a stream may exceed reply_timeout', async (t) => {
  for (const declares of [true, false]) {
    const { origin, service } = await openGreeterGateway(
      t,
      { flags: ['--reply_timeout=200ms'] },
      { declares },
    )
    const stream = await openStream(t, `${origin}/greeter/quiet`)
    await stream.waitUntil((text) => text.includes('\n'))
    const late = await fetch(`${origin}/greeter/wait`)
    t.equal(late.status, 408)
    t.match(await late.json(), { Code: 408, Status: 'Request Timeout' })
    // The stream continues for another timeout.
    t.equal((await fetch(`${origin}/greeter/wait`)).status, 408)
    t.equal(stream.text(), '{"n":1}\n')
    t.notOk(stream.complete())
    t.equal(service.calls[0]?.timeoutMs, 0, 'no deadline is sent to the service')
    t.equal(service.calls[1]?.timeoutMs, declares ? 200 : 0)
    stream.disconnect()
  }
})

t.test('a client deadline ends the stream', async (t) => {
  const { origin, log } = await openGreeterGateway(t)
  const stream = await openStream(t, `${origin}/greeter/quiet`, { timeout: '0.2' })
  const lines = (await stream.end()).split('\n')
  t.match(JSON.parse(lines[1]!), { error: { Code: 408, Status: 'Request Timeout' } })
  await waitUntil(() => log.aborted.length === 1)
})

t.test('returns 406 for streams other than JSON over HTTP', async (t) => {
  const { origin, log } = await openGreeterGateway(
    t,
    {},
    {
      intercept: (call) => {
        if (call.endpoint !== 'Greeter.Forever') return false
        call.receiver = {
          ...call.receiver,
          onCancel: (reason) => log.aborted.push(reason),
        }
        call.start('content-type: application/protobuf\r\n')
        return true
      },
    },
  )
  const reply = await fetch(`${origin}/greeter/forever`)
  t.equal(reply.status, 406)
  t.match(await reply.json(), {
    Id: 'go.mx.api.greeter',
    Code: 406,
    Detail: /requires a WebSocket/,
  })
  await waitUntil(() => log.aborted.length === 1)
})

t.test('returns stream metadata as headers', async (t) => {
  const { origin } = await openGreeterGateway(
    t,
    {},
    {
      intercept: (call) => {
        const isBroken = call.endpoint === 'Greeter.Echo'
        call.start(isBroken ? 'broken' : 'x-one: 1\r\ncontent-type: application/json\r\n')
        call.sendData('{"n":1}')
        call.endData()
        return true
      },
    },
  )
  const stream = await openStream(t, `${origin}/greeter/forever`)
  t.match(stream.headers, { 'x-one': '1', 'content-type': 'application/x-ndjson' })
  t.equal(await stream.end(), '{"n":1}\n')
  const broken = await fetch(`${origin}/greeter/echo`)
  t.equal(broken.status, 502)
  t.match(await broken.json(), { Code: 502, Detail: /malformed/ })
})
