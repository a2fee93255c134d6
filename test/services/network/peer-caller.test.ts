import t, { type Test } from 'tap'
import { type Dispatch, NOOP_RECEIVER } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { ServiceError } from '../../../sdk/errors.ts'
import { createPeerCaller, createTraffic } from '../../../services/network/peer-caller.ts'
import { testCalls } from '../../contracts/calls.ts'
import { Echo } from '../../fixtures/call-streams.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../fixtures/rpc.ts'
import { openCaller, openPort } from '../../fixtures/rpc-proxy.ts'

/** A caller that counts its calls. */
async function open(t: Test, dispatch: Dispatch) {
  const { port } = await openPort(t, dispatch)
  const traffic = createTraffic()
  const inner = openCaller(t, port, 'mx')
  const refusals: string[] = []
  const onRefused = (detail: string) => void refusals.push(detail)
  return {
    caller: createPeerCaller({ caller: inner, traffic, onDenied: onRefused }),
    traffic,
    refusals,
  }
}

t.test('calls through a peer caller', async (t) => {
  testCalls(t, {
    open: async (t, dispatch) => (await open(t, dispatch)).caller,
    isFast: true,
    maxBuffered: 525,
  })
})

t.test('counts calls, failures, and bytes sent and received', async (t) => {
  const { caller, traffic, refusals } = await open(t, (call) => {
    if (call.endpoint === 'A.Echo') new Echo(call)
    else if (call.endpoint === 'A.Reply') call.reply('', 'four')
    else throw new ServiceError('s', Number(call.endpoint), '')
  })
  const run = async (change: Partial<RecordedCall>, ...bodies: string[]): Promise<void> => {
    const call = new RecordedCall({ ...change, more: bodies.length > 0 })
    caller.call(call)
    await waitUntil(() => bodies.length === 0 || call.sendData(bodies[0]!))
    for (const body of bodies.slice(1)) call.sendData(body)
    call.endData()
    await waitUntil(() => call.events.some((event) => /^(reply|fail|end|lost)/.test(event)))
  }
  await run({ endpoint: 'A.Reply', body: '12' })
  t.strictSame(traffic, { calls: 1, failures: 0, sentBytes: 2, receivedBytes: 4 })
  await run({ endpoint: 'A.Echo', stream: true, body: Buffer.from('1') }, '\u00e4', 'abc')
  t.strictSame(traffic, { calls: 2, failures: 0, sentBytes: 8, receivedBytes: 10 })
  await run({ endpoint: '404', body: '' })
  t.match(traffic, { calls: 3, failures: 0 }, 'an error of the caller does not count as a failure')
  await run({ endpoint: '503', body: '' })
  t.match(traffic, { calls: 4, failures: 1 })
  t.strictSame(refusals, [])
  caller.close()
  await run({ endpoint: 'A.Reply', body: '' })
  t.match(traffic, { calls: 5, failures: 2 }, 'a call on a closed channel counts as a failure')
  t.match(refusals, ['the channel was closed'], 'the call was rejected')
})

t.test('a call with a running deadline is forwarded with the remaining time', async (t) => {
  const times: number[] = []
  const { caller } = await open(t, (call) => {
    times.push(call.timeoutMs)
    call.reply('', '')
  })
  const call = new RecordedCall({ timeoutMs: 10_000 })
  deadlines.add(call, 500)
  caller.call(call)
  await waitUntil(() => call.events.length > 0)
  t.ok(times[0]! > 0 && times[0]! <= 500, `${times[0]} ms`)
  t.equal(call.timedNext, undefined, 'the call no longer has a timer')
})

t.test('a call whose local deadline expires first is cancelled at the peer', async (t) => {
  const cancelled: string[] = []
  const { caller } = await open(t, (call) => {
    call.receiver = { ...NOOP_RECEIVER, onCancel: (reason) => cancelled.push(reason) }
  })
  const call = new RecordedCall()
  caller.call(call)
  // A local deadline, which is not sent to the service.
  deadlines.add(call, 50)
  await waitUntil(() => cancelled.length > 0)
  t.strictSame([cancelled, call.events], [['cancel'], ['lost timeout']])
})
