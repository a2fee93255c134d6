// Hedged calls of the gateway. Deadlines and load: test/load/core/rpc/hedge.test.ts; clients:
// test/sdk/client/hedge.test.ts.
import { request as openRequest } from 'node:http'
import t from 'tap'
import { WebSocket } from 'ws'
import type { Plugin } from '../../../core/chain.ts'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { createUwsListener } from '../../../core/listener/uws/listener.ts'
import type { IncomingCall } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { ExchangeTrace } from '../../../core/tracing/exchange-trace.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { AT_ONCE, answer, openHedgedGateway } from '../../fixtures/hedged-calls.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createRecorder } from '../../fixtures/span-recorder.ts'

const LISTENERS = { uws: createUwsListener, node: createNodeListener }
for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of ['mx', 'http', 'local'] as const) {
    t.test(
      `${name}, ${protocol}: the first response wins and cancels the other attempt`,
      async (t) => {
        const { first, second, get, settle, exchanges } = await openHedgedGateway(
          t,
          AT_ONCE,
          { listener },
          { protocol },
        )
        for (const [winner, loser] of [
          [second, first],
          [first, second],
        ] as const) {
          const reply = get()
          await waitUntil(
            () => first.calls.length === second.calls.length && winner.calls.length > 0,
          )
          answer(winner.calls.at(-1), 'winner')
          t.strictSame(await (await reply).json(), { name: 'winner' })
          await waitUntil(() => loser.canceled === 1)
          t.equal(exchanges.at(-1)!.attempts, 2)
          first.calls.length = second.calls.length = 0
        }
        t.strictSame([first.canceled, second.canceled], [1, 1])
        t.not(exchanges[0]!.node, exchanges[1]!.node, 'the node that responded')
        await settle(t)
      },
    )

    t.test(`${name}, ${protocol}: a hedge may respond with a stream`, async (t) => {
      const { first, second, get, settle } = await openHedgedGateway(
        t,
        AT_ONCE,
        { listener },
        { protocol },
      )
      const reply = get('stream')
      await waitUntil(() => second.calls.length === 1)
      const [call] = second.calls
      const body = JSON.stringify('x'.repeat(10_000))
      let sent = 0
      // More than the flow-control window.
      const send = (): void => {
        while (sent < 200 && call!.sendData(body)) sent++
        if (sent === 200) call!.endData()
      }
      call!.receiver = { ...call!.receiver, onCredit: send }
      send()
      t.equal(await (await reply).text(), `${body}\n`.repeat(200))
      await waitUntil(() => first.canceled === 1)
      t.equal(second.canceled, 0)
      await settle(t)
    })
  }

  t.test(`${name}: a client disconnect cancels all attempts`, async (t) => {
    const { port, first, second, settle } = await openHedgedGateway(t, AT_ONCE, { listener })
    for (const path of ['any', 'stream']) {
      const request = openRequest({ port, path: `/greeter/${path}` }).on('error', () => {})
      request.end()
      await waitUntil(() => first.calls.length === 1 && second.calls.length === 1)
      if (path === 'stream') {
        request.on('response', (reply) => reply.on('error', () => {}).resume())
        second.calls[0]!.sendData('{}')
        await waitUntil(() => first.canceled === 2)
      }
      request.destroy()
      await waitUntil(() => first.canceled === second.canceled)
      first.calls.length = second.calls.length = 0
    }
    t.strictSame([first.canceled, second.canceled], [2, 2])
    await settle(t)
  })
}

t.test('an attempt that fails does not affect the other one', async (t) => {
  const failures: ((call: IncomingCall, cut: () => void) => void)[] = [
    (call) => call.fail(new ServiceError('greeter', 500, 'no')),
    (call) => call.fail(new ServiceError('greeter', 404, 'no')),
    (call) => call.fail(new ServiceError('greeter', 503, 'no')),
    (_call, cut) => cut(),
  ]
  for (const fail of failures)
    for (const isHedge of [true, false]) {
      const { first, second, get, settle } = await openHedgedGateway(t)
      const reply = get()
      await waitUntil(() => second.calls.length === 1)
      const [failing, other] = isHedge ? [second, first] : [first, second]
      fail(failing.calls[0]!, failing.cut)
      // A response to the failed call would be discarded, so the other node responds to a second request first.
      const before = get('once')
      await waitUntil(() => first.calls.length + second.calls.length === 3)
      for (const call of [...first.calls.slice(1), ...second.calls.slice(1)]) answer(call, 'once')
      t.equal((await before).status, 200)
      answer(other.calls[0], 'other')
      t.strictSame(await (await reply).json(), { name: 'other' })
      await settle(t)
    }
})

t.test('if all attempts fail, the call is retried once and returns the last error', async (t) => {
  const { first, second, get, settle, exchanges } = await openHedgedGateway(t)
  const reply = get()
  await waitUntil(() => second.calls.length === 1)
  first.calls[0]!.fail(new ServiceError('greeter', 500, 'first'))
  second.calls[0]!.fail(new ServiceError('greeter', 500, 'second'))
  await waitUntil(() => first.calls.length + second.calls.length === 3)
  const retried = first.calls[1] ?? second.calls[1]
  retried!.fail(new ServiceError('greeter', 500, 'retry'))
  t.match(await (await reply).json(), { Code: 500, Detail: 'retry' })
  t.equal(exchanges[0]!.attempts, 3)
  await settle(t)
})

t.test('a stream of a hedge without a requested deadline has none', async (t) => {
  const { second, get, settle } = await openHedgedGateway(
    t,
    AT_ONCE,
    { flags: ['--reply-timeout=200ms'] },
    { declares: false },
  )
  const reply = get()
  await waitUntil(() => second.calls.length === 1)
  const [call] = second.calls
  call!.sendData('1')
  const response = await reply
  t.equal(deadlines.size, 0)
  call!.sendData('2')
  call!.endData()
  t.equal(await response.text(), '1\n2\n')
  await settle(t)
})

t.test('calls that may not be repeated are sent once', async (t) => {
  const { first, second, get, post, settle, entry } = await openHedgedGateway(t)
  const explicit = (method: string, address = '') =>
    post('/rpc', { service: entry.name, method, address, request: {} })
  const hedged = [
    () => get(),
    () => get('read'),
    () => post('/greeter/read'),
    () => post('/greeter/same'),
    () => explicit('Greeter.Read'),
  ]
  const single = [
    () => get('once'),
    () => post('/greeter/any'),
    () => post('/greeter/once'),
    () => explicit('Greeter.Any'),
    () => explicit('Greeter.Read', entry.nodes[0]!.address),
  ]
  for (const send of single) {
    const reply = send()
    await waitUntil(() => first.calls.length === 1)
    const other = get()
    await waitUntil(() => second.calls.length === 1)
    t.equal(first.calls.length, 2, 'the hedge of the call that was sent later')
    for (const call of [...first.calls, ...second.calls]) answer(call, 'single')
    t.equal((await reply).status, 200, String(send))
    await (await other).text()
    first.calls.length = second.calls.length = 0
  }
  for (const send of hedged) {
    const reply = send()
    await waitUntil(() => second.calls.length === 1)
    answer(second.calls[0], 'hedge')
    t.strictSame(await (await reply).json(), { name: 'hedge' }, String(send))
    first.calls.length = second.calls.length = 0
  }
  await settle(t)
})

t.test('calls of the api handler are hedged', async (t) => {
  const { second, get, settle } = await openHedgedGateway(t, AT_ONCE, { flags: ['--handler=api'] })
  const reply = get('any')
  await waitUntil(() => second.calls.length === 1)
  second.calls[0]!.reply('', JSON.stringify({ statusCode: 202, body: 'hedge' }))
  const response = await reply
  t.equal(response.status, 202)
  t.equal(await response.text(), 'hedge')
  await settle(t)
})

t.test('a translated gRPC call of a read-only endpoint is hedged', async (t) => {
  const { first, second, settle, origin } = await openHedgedGateway(t)
  const reply = fetch(`${origin}/greeter/Greeter/Read`, {
    method: 'POST',
    headers: { 'content-type': 'application/grpc-web+json' },
    body: Buffer.from('\0\0\0\0\x02{}'),
  })
  await waitUntil(() => second.calls.length === 1)
  answer(second.calls[0], 'hedge')
  t.match(await (await reply).text(), /\{"name":"hedge"\}[\s\S]*grpc-status: ?0/)
  await waitUntil(() => first.canceled === 1)
  await settle(t)
})

t.test('a hedge is part of the span of the first attempt', async (t) => {
  const { tracer, spans } = createRecorder()
  const plugins: Plugin[] = [
    {
      name: 'test-tracing',
      onRequest: (x) => {
        x.trace = new ExchangeTrace(tracer, x, {})
      },
    },
  ]
  const { first, second, get, settle } = await openHedgedGateway(t, AT_ONCE, { plugins })
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const reply = get('any', { traceparent: parent })
  await waitUntil(() => second.calls.length === 1)
  const [sent] = first.calls.map(({ metadata }) => /traceparent: (.*)/.exec(metadata)?.[1])
  t.not(sent, parent)
  t.match(second.calls[0]!.metadata, `traceparent: ${sent}`)
  answer(second.calls[0], 'second')
  await (await reply).text()
  await settle(t)
  t.equal(spans.length, 2, 'the server span and the attempt')
  t.match(spans[1], { name: 'go.mx.api.greeter/Greeter.Any', ended: 1 })
})

t.test('the retry budget limits hedges', async (t) => {
  const retry = { budgetPercent: 0, minConcurrency: 2 }
  const { first, second, get, settle } = await openHedgedGateway(t, { ...AT_ONCE, retry })
  const replies = Array.from({ length: 5 }, () => get())
  await waitUntil(() => first.calls.length === 5 && second.calls.length === 2)
  for (const call of first.calls) answer(call, 'first')
  for (const reply of replies) t.strictSame(await (await reply).json(), { name: 'first' })
  t.equal(second.calls.length, 2)
  await waitUntil(() => second.canceled === 2)
  const reply = get()
  await waitUntil(() => second.calls.length === 3)
  answer(second.calls[2], 'second')
  t.equal((await reply).status, 200, 'the budget is released')
  await settle(t)
})

t.test('after: p95 hedges calls that take longer than the 95th percentile', async (t) => {
  const { first, second, get } = await openHedgedGateway(t, { hedge: { after: 'p95', max: 1 } })
  for (let i = 0; i < 32; i++) {
    const reply = get()
    await waitUntil(() => first.calls.length === i + 1)
    answer(first.calls[i], 'first')
    await (await reply).text()
  }
  t.equal(second.calls.length, 0, 'no percentile yet')
  const reply = get()
  await waitUntil(() => second.calls.length === 1)
  answer(second.calls[0], 'second')
  t.strictSame(await (await reply).json(), { name: 'second' })
})

t.test('max: 0 disables hedging, and a WebSocket is not hedged', async (t) => {
  const off = await openHedgedGateway(t, { hedge: { after: 1, max: 0 } })
  const reply = off.get()
  await waitUntil(() => off.first.calls.length === 1)
  const upstream = off.exchanges[0]!.upstream!
  t.equal(upstream.hedge!.max, 0)
  answer(off.first.calls[0], 'first')
  t.strictSame(await (await reply).json(), { name: 'first' })
  t.equal(off.second.calls.length, 0)
  const on = await openHedgedGateway(t, AT_ONCE, {}, { protocol: 'http' })
  const socket = new WebSocket(`ws://127.0.0.1:${on.port}/greeter/any?a=1`)
  t.teardown(() => socket.terminate())
  await waitUntil(() => on.first.calls.length === 1)
  const other = on.get()
  await waitUntil(() => on.second.calls.length === 1)
  for (const call of [...on.first.calls, ...on.second.calls]) answer(call, 'only')
  await (await other).text()
  t.equal(on.first.calls.length, 2, 'the WebSocket was sent once')
})
