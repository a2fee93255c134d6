import type { Test } from 'tap'
import type { Dispatch, IncomingCall } from '../../core/rpc/call.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import { deadlines } from '../../core/rpc/deadlines.ts'
import { findMetadata } from '../../core/rpc/metadata.ts'
import { ServiceError } from '../../sdk/errors.ts'
import { Echo, Sink, Source } from '../fixtures/call-streams.ts'
import { keepAlive } from '../fixtures/keep-alive.ts'
import { tick, waitUntil } from '../fixtures/raw-backend.ts'
import { createTracker, RecordedCall } from '../fixtures/rpc.ts'

/** A call transport between a caller and a dispatcher. */
export interface CallPath {
  /** Creates a caller of this dispatcher. Closed with the test. */
  readonly open: (t: Test, dispatch: Dispatch) => Promise<Caller>
  /** Whether it supports request streams. The HTTP transport does not, and supports only response streams of JSON. */
  readonly isFast: boolean
  /** Maximum number of small bodies buffered between both ends for a caller that does not read. */
  readonly maxBuffered: number
}

const SERVICE = 'helloworld'
const BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i))

/** Contract of call transports (docs/protocol.md). */
export function testCalls(t: Test, { open, isFast, maxBuffered }: CallPath): void {
  t.test('contract: transfers names, metadata, body and response unchanged', async (t) => {
    const received: Pick<IncomingCall, 'service' | 'endpoint' | 'metadata'>[] = []
    const caller = await open(t, (call) => {
      const { service, endpoint, metadata } = call
      received.push({ service, endpoint, metadata })
      call.reply('content-type: application/x-custom\r\nx-two: 1\r\nx-two: \xe4\r\n', call.body)
    })
    const call = new RecordedCall({
      endpoint: 'A.B',
      metadata: 'content-type: image/png\r\nmx-namespace: shop\r\nx-one: J\xc3\xb6rg, b\r\n',
      body: BYTES,
    })
    const replies: [string, Buffer][] = []
    call.onReply = (metadata, body) => replies.push([metadata, Buffer.from(body)])
    caller.call(call)
    await waitUntil(() => replies.length === 1)
    t.match(received, [{ service: SERVICE, endpoint: 'A.B' }])
    const { metadata } = received[0]!
    t.equal(findMetadata(metadata, 'content-type'), 'image/png')
    t.equal(findMetadata(metadata, 'mx-namespace'), 'shop')
    t.equal(findMetadata(metadata, 'x-one'), 'J\xc3\xb6rg, b')
    const [fields, body] = replies[0]!
    t.equal(findMetadata(fields, 'content-type'), 'application/x-custom')
    t.match(fields, 'x-two: 1\r\nx-two: \xe4\r\n')
    t.ok(body.equals(BYTES))
    t.equal(caller.pending, 0)
  })

  t.test('contract: transfers an empty body', async (t) => {
    const caller = await open(t, (call) => call.reply('', call.body))
    t.match(await runCall(caller, { body: '' }), [/^reply ".*" $/])
  })

  t.test('contract: transfers all fields of an error', async (t) => {
    const headers = ['retry-after', '7', 'x-custom', '\xe4']
    const caller = await open(t, (call) => {
      if (call.endpoint === 'A.Fault') throw new Error('secret')
      call.fail(new ServiceError('custom', 429, 'no \u{1f600}', { headers, repeatable: false }))
    })
    const call = new RecordedCall({ endpoint: 'A.Fail' })
    caller.call(call)
    await waitUntil(() => call.error !== undefined)
    const { id, code, message, repeatable } = call.error!
    t.strictSame([id, code, message, repeatable], ['custom', 429, 'no \u{1f600}', false])
    t.strictSame(call.error!.headers?.slice(0, 4), headers)
    t.notOk(call.isForeign)
    t.strictSame(await runCall(caller, { endpoint: 'A.Fault' }), [
      `fail 500 ${SERVICE}: internal error`,
    ])
  })

  t.test('contract: transfers a stream in order, with its end or its error', async (t) => {
    const caller = await open(t, (call) => {
      if (call.endpoint === 'A.Empty') return call.endData()
      call.start('x-one: 1\r\n')
      for (let i = 0; i < 3; i++) call.sendData(`${i}`)
      if (call.endpoint === 'A.Fail') call.fail(new ServiceError('custom', 409, 'no'))
      else call.endData()
    })
    const stream = async (endpoint: string) => runCall(caller, { endpoint, stream: true })
    const [start, ...bodies] = await stream('A.Stream')
    t.match(start, 'x-one: 1')
    t.strictSame(bodies, ['data 0', 'data 1', 'data 2', 'end'])
    t.strictSame((await stream('A.Fail')).slice(1), [
      'data 0',
      'data 1',
      'data 2',
      'fail 409 custom: no',
    ])
    t.strictSame((await stream('A.Empty')).at(-1), 'end')
  })

  t.test('contract: starts a stream before its first body', async (t) => {
    const { dispatch, calls } = createTracker()
    const caller = await open(t, dispatch)
    const call = new RecordedCall({ stream: true })
    caller.call(call)
    await waitUntil(() => calls.length === 1)
    calls[0]!.start('x-one: 1\r\n')
    if (!isFast) calls[0]!.sendData('1')
    await waitUntil(() => call.events.length > 0)
    t.match(call.events[0], /^start .*x-one: 1/)
    calls[0]!.endData()
    await waitUntil(() => call.carrier === undefined)
  })

  t.test('contract: transfers bodies of 16 MiB', async (t) => {
    const caller = await open(t, (call) => {
      if (call.endpoint === 'A.Reply') return call.reply('', call.body)
      call.sendData(call.body)
      call.endData()
    })
    // The frame limit includes the bytes before the body.
    const body = Buffer.alloc(16 * 1024 * 1024 - 1024, 'x')
    for (const endpoint of ['A.Reply', 'A.Stream']) {
      const call = new RecordedCall({ endpoint, body, stream: true })
      let isEqual = false
      const check = (received: Uint8Array) => {
        isEqual = body.equals(received)
      }
      call.onReply = (_, received) => check(received)
      call.onData = check
      caller.call(call)
      await waitUntil(() => call.carrier === undefined)
      t.ok(isEqual, endpoint)
    }
  })

  t.test('contract: matches responses of thousands of concurrent calls and streams', async (t) => {
    const caller = await open(t, (call) => {
      if (call.endpoint === 'A.Reply') return call.reply('', call.body)
      const text = Buffer.from(call.body).toString()
      for (let i = 0; i < 3; i++) call.sendData(`"${text}-${i}"`)
      call.endData()
    })
    const calls = Array.from({ length: 4000 }, (_, i) => {
      const stream = i % 2 === 1
      const endpoint = stream ? 'A.Stream' : 'A.Reply'
      const call = new RecordedCall({ endpoint, body: `${i}`, stream })
      caller.call(call)
      return call
    })
    await waitUntil(() => caller.pending === 0)
    let invalid = 0
    for (const [i, { events, stream }] of calls.entries()) {
      const text = events.filter((event) => !event.startsWith('start ')).join(' ')
      const isValid = stream
        ? text === `data "${i}-0" data "${i}-1" data "${i}-2" end`
        : text.startsWith('reply ') && text.endsWith(` ${i}`)
      if (!isValid) invalid++
    }
    t.equal(invalid, 0)
  })

  t.test('contract: cancels the call when the caller aborts', async (t) => {
    const { dispatch, calls, events } = createTracker()
    const caller = await open(t, dispatch)
    for (const stream of [false, true]) {
      const call = new RecordedCall({ stream })
      caller.call(call)
      await waitUntil(() => calls.length === (stream ? 2 : 1))
      if (stream) {
        calls[1]!.sendData('1')
        await waitUntil(() => call.events.at(-1) === 'data 1')
      }
      call.cancel()
    }
    await waitUntil(() => events.every((of) => of.length > 0))
    t.strictSame(events, [['cancel cancel'], ['cancel cancel']])
    t.equal(caller.pending, 0)
  })

  t.test(
    'contract: sends the deadline to the service and ends the call on both sides with 408',
    async (t) => {
      keepAlive(t)
      const before = deadlines.size
      const { dispatch, calls, events } = createTracker()
      const caller = await open(t, dispatch)
      const late = await runCall(caller, { timeoutMs: 250 })
      // Either timer may expire first; the caller receives the same error.
      t.match(late, [/^(lost timeout|fail 408 helloworld: )/])
      const { timeoutMs } = calls[0]!
      t.ok(timeoutMs > 0 && timeoutMs <= 250, `${timeoutMs} ms`)
      await waitUntil(() => events[0]!.length > 0)
      t.match(events[0], [/^cancel (timeout|cancel)$/])
      await waitUntil(() => deadlines.size === before)
      const call = new RecordedCall()
      caller.call(call)
      await waitUntil(() => calls.length === 2)
      t.equal(calls[1]!.timeoutMs, 0, 'absent if none was set')
      calls[1]!.reply('', '')
      await waitUntil(() => call.events.length === 1)
    },
  )

  t.test('contract: a slow reader applies back-pressure and loses nothing', async (t) => {
    const COUNT = 60_000
    const pad = ' '.repeat(500)
    let source: Source | undefined
    const caller = await open(t, (call) => {
      if (call.endpoint === 'A.Reply') return call.reply('', call.body)
      source = new Source(call, COUNT, pad)
    })
    const sink = new Sink({ endpoint: 'A.Stream', stream: true })
    caller.call(sink)
    await waitUntil(() => source !== undefined && source.rejectedCount > 0 && sink.received > 0)
    await waitUntilStable(() => source!.next)
    t.ok(source!.next <= maxBuffered, `${source!.next} bodies are pending`)
    t.match(
      await runCall(caller, { endpoint: 'A.Reply', body: '1' }),
      [/ 1$/],
      'other streams continue',
    )
    while (!sink.ended) {
      sink.take(200)
      await tick()
    }
    t.equal(sink.received, COUNT)
    t.ok(sink.isOrdered)
  })

  if (!isFast) {
    t.test('contract: rejects client streams', async (t) => {
      const caller = await open(t, (call) => call.reply('', call.body))
      t.match(await runCall(caller, { more: true, stream: true }), [
        /^fail 400 .*client streaming requires the WebSocket transport/,
      ])
    })
    return
  }

  t.test('contract: transfers a client stream in order, with its end', async (t) => {
    const { dispatch, calls, events } = createTracker()
    const caller = await open(t, dispatch)
    const call = new RecordedCall({ body: '', more: true })
    caller.call(call)
    const bodies = ['1', '', 'three']
    for (const body of bodies) while (!call.sendData(body)) await tick()
    call.endData()
    await waitUntil(() => events[0]?.length === 4)
    t.strictSame(events[0], ['data 1', 'data ', 'data three', 'end'])
    calls[0]!.reply('', 'all')
    await waitUntil(() => call.events.some((event) => event.startsWith('reply')))
    t.equal(call.events.at(-1), 'reply "" all')
  })

  t.test(
    'contract: accepts a response before the end of the requests and drops the rest',
    async (t) => {
      const caller = await open(t, (call) => {
        call.receiver = {
          onData: () => call.reply('', 'done'),
          onEnd() {},
          onCancel() {},
          onCredit() {},
        }
      })
      const call = new RecordedCall({ body: '', more: true })
      caller.call(call)
      while (!call.events.some((event) => event.startsWith('reply'))) {
        call.sendData('more')
        await tick()
      }
      t.ok(call.sendData('even more'))
      call.endData()
      t.equal(caller.pending, 0)
    },
  )

  t.test(
    'contract: transfers requests and responses concurrently at the pace of their readers',
    async (t) => {
      const COUNT = 30_000
      let echo: Echo | undefined
      const caller = await open(t, (call) => {
        echo = new Echo(call)
      })
      const sink = new Sink({ stream: true, more: true, body: '' })
      let sent = 0
      sink.onCredit = () => {
        while (sent < COUNT) {
          if (!sink.sendData(`${sent} ${'.'.repeat(sent % 100)}`)) return
          sent++
        }
        sink.endData()
      }
      caller.call(sink)
      sink.onCredit()
      while (!sink.ended) {
        sink.take(500)
        await tick()
      }
      t.equal(sink.received, COUNT)
      t.ok(sink.isOrdered)
      t.ok(sink.maxQueue <= 4096)
      t.ok(echo!.maxWaiting <= 4096)
    },
  )

  t.test('contract: a slow service applies back-pressure to its caller', async (t) => {
    const { dispatch, calls, events } = createTracker()
    const caller = await open(t, dispatch)
    const call = new RecordedCall({ body: '', more: true })
    let sent = 0
    call.onCredit = () => {
      while (call.sendData('x'.repeat(500))) sent++
    }
    caller.call(call)
    call.onCredit()
    await waitUntil(() => calls.length === 1)
    await waitUntilStable(() => sent)
    t.ok(sent <= maxBuffered, `${sent} bodies are pending`)
    const receivedCount = events[0]!.length
    t.ok(receivedCount > 0 && receivedCount < sent + 1)
    for (let i = 0; i < receivedCount; i++) calls[0]!.consumed(500)
    const before = sent
    await waitUntil(() => sent > before)
    call.cancel()
    await waitUntil(() => events[0]!.at(-1) === 'cancel cancel')
  })
}

/** Resolves with the events of a call after its end. Bodies are consumed on arrival. */
async function runCall(caller: Caller, fields: Partial<RecordedCall>): Promise<string[]> {
  const call = new RecordedCall(fields)
  call.onEvent = (event) => {
    if (event.startsWith('data ')) call.consumed(event.length - 5)
  }
  caller.call(call)
  await waitUntil(() => call.carrier === undefined)
  return call.events
}

/** Resolves when a count has not changed for several event loop ticks. */
async function waitUntilStable(count: () => number): Promise<void> {
  for (
    let isEqual = 0, last = count();
    isEqual < 200;
    isEqual = last === count() ? isEqual + 1 : 0
  ) {
    last = count()
    await tick()
  }
}
