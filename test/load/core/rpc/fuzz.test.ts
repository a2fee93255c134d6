// A connection may receive arbitrary bytes, and an error closes only that connection.
import fc from 'fast-check'
import t from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import { relayMemory } from '../../../../core/limits/memory-budget.ts'
import type { IncomingCall, OutgoingCall } from '../../../../core/rpc/call.ts'
import type { Caller } from '../../../../core/rpc/caller.ts'
import { deadlines } from '../../../../core/rpc/deadlines.ts'
import { forwardCall } from '../../../../core/rpc/proxy-call.ts'
import { ClientConnection } from '../../../../core/rpc/ws/client-connection.ts'
import { ServerConnection } from '../../../../core/rpc/ws/server-connection.ts'
import { Upstream } from '../../../../core/upstream/upstream.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { tick } from '../../../fixtures/raw-backend.ts'
import {
  createTracker,
  fromHex,
  LinkSocket,
  RecordedCall,
  readVectors,
  TestSocket,
} from '../../../fixtures/rpc.ts'
import { createPools, makeService } from '../../../fixtures/services.ts'

const OWNER = { onRetired: () => {}, onUnsent: () => {}, onIdle: () => {}, onClosed: () => {} }
const FINAL = /^(reply|fail|lost|end|cancel)/

function check(condition: boolean, description: string): void {
  if (!condition) throw new Error(description)
}

const { messages } = readVectors()
const FROM_CALLER = messages.filter(({ from }) => from === 'caller').map(({ hex }) => fromHex(hex))
const FROM_CALLEE = messages.filter(({ from }) => from === 'callee').map(({ hex }) => fromHex(hex))

/** A frame header, mostly of a known type; half of the lengths are correct. */
const frame = fc
  .record({
    type: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) },
      { weight: 1, arbitrary: fc.nat(255) },
    ),
    flags: fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(255) }),
    reserved: fc.oneof(
      { weight: 20, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.nat(0xffff) },
    ),
    id: fc.oneof({ weight: 9, arbitrary: fc.nat(6) }, { weight: 1, arbitrary: fc.nat(0xffffffff) }),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constant(Buffer.alloc(4)),
      fc.constant(Buffer.alloc(0)),
      fc.nat(300).map((length) => Buffer.alloc(length)),
    ),
    length: fc.option(fc.oneof(fc.nat(100), fc.nat(0xffffffff)), { freq: 8 }),
  })
  .map(({ type, flags, reserved, id, payload, length }) => {
    const bytes = Buffer.alloc(12 + payload.length)
    bytes.writeUInt32LE(length ?? payload.length, 0)
    bytes[4] = type
    bytes[5] = flags
    bytes.writeUInt16LE(reserved, 6)
    bytes.writeUInt32LE(id, 8)
    bytes.set(payload, 12)
    return bytes
  })

/** Valid messages with flipped bits, or truncated. */
const damaged = (valid: readonly Buffer[]) =>
  fc
    .record({
      frames: fc.array(fc.constantFrom(...valid), { minLength: 1, maxLength: 4 }),
      flips: fc.array(fc.nat(), { maxLength: 3 }),
      cut: fc.option(fc.nat(), { freq: 3 }),
    })
    .map(({ frames, flips, cut }) => {
      const bytes = Buffer.concat(frames)
      for (const flip of flips) {
        const bit = flip % (bytes.length * 8)
        bytes[bit >> 3]! ^= 1 << (bit & 7)
      }
      return cut === null ? bytes : bytes.subarray(0, cut % bytes.length)
    })

const input = (valid: readonly Buffer[]) =>
  fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
      fc.array(frame, { minLength: 1, maxLength: 5 }).map((frames) => Buffer.concat(frames)),
      { weight: 6, arbitrary: fc.constantFrom(...valid) },
      damaged(valid),
    ),
    { minLength: 1, maxLength: 12 },
  )

/** Immediate reaction of a dispatcher to a call. */
function serve(call: IncomingCall, n: number): void {
  if (n % 5 === 0) call.reply('a: b\r\n', 'x')
  else if (n % 5 === 1 && call.stream) call.sendData('x')
  else if (n % 5 === 2) throw new Error('broken')
}

t.test('random bytes of a caller close at most its own connection, with a code', async (t) => {
  const other = { socket: new TestSocket(), ...createTracker() }
  const otherConnection = new ServerConnection(other.dispatch)
  otherConnection.open(other.socket)
  otherConnection.onMessage(FROM_CALLER[0]!, true)
  let closed = 0
  let runs = 0
  fc.assert(
    fc.property(input(FROM_CALLER), (messages) => {
      runs++
      const socket = new TestSocket()
      const tracker = createTracker()
      const connection = new ServerConnection((call) => {
        tracker.dispatch(call)
        serve(call, tracker.calls.length)
      })
      connection.open(socket)
      let bytes = 0
      for (const message of messages) {
        const before = tracker.calls.length
        const wasClosed = connection.closed
        bytes += message.length
        connection.onMessage(message, true)
        check(!wasClosed || tracker.calls.length === before, 'served after the close')
      }
      check(connection.closed === (socket.closed !== undefined), 'closed without a close code')
      if (connection.closed) {
        closed++
        check([1002, 1009].includes(socket.closed!.code), `code ${socket.closed!.code}`)
        check(connection.pending === 0, 'calls remain')
      }
      connection.close()
      for (const [i, { isSettled }] of tracker.calls.entries()) {
        check(isSettled, 'a call has not ended')
        check(
          tracker.events[i]!.filter((event) => FINAL.test(event)).length <= 2,
          'more than two final events',
        )
      }
      const sentBytes = socket.sent.reduce((sum, { length }) => sum + length, 0)
      check(sentBytes <= bytes * 20 + 1000, `${sentBytes} bytes for ${bytes}`)
    }),
    { numRuns: scaleRuns(5000) },
  )
  t.ok(closed > runs / 10 && closed < runs, `${closed} of ${runs} were closed`)
  t.equal(other.socket.closed, undefined)
  t.strictSame(other.events, [[]])
  t.equal(otherConnection.pending, 1)
  otherConnection.close()
  t.equal(deadlines.size, 0)
})

t.test(
  'with random bytes of a callee every call ends at most once, and all end with the connection',
  async (t) => {
    let closed = 0
    let runs = 0
    await fc.assert(
      fc.asyncProperty(input(FROM_CALLEE), async (messages) => {
        runs++
        const socket = new TestSocket()
        const unsent: unknown[] = []
        const owner = { ...OWNER, onUnsent: (call: unknown) => unsent.push(call) }
        const connection = new ClientConnection(socket, owner)
        const calls = [false, true, true, false, true].map(
          (stream, i) => new RecordedCall({ stream, more: i === 2, timeoutMs: 10_000 }),
        )
        for (const call of calls) connection.call(call)
        await tick()
        for (const message of messages) connection.onMessage(message, true)
        const silent = socket.closed === undefined || socket.closed.code === 1000
        check(silent || [1002, 1009].includes(socket.closed!.code), `code ${socket.closed?.code}`)
        if (!silent) closed++
        connection.close('end of test')
        check(connection.pending === 0, 'calls remain')
        for (const call of calls) {
          const finals = call.events.filter((event) => FINAL.test(event)).length
          check(finals === (unsent.includes(call) ? 0 : 1), `${finals} ends: ${call.events}`)
          check(finals === 0 || FINAL.test(call.events.at(-1)!), `after the end: ${call.events}`)
          call.release()
        }
      }),
      { numRuns: scaleRuns(3000) },
    )
    t.ok(closed > runs / 10 && closed < runs, `${closed} of ${runs} were closed`)
    t.equal(deadlines.size, 0)
  },
)

t.test('a declared length without data allocates no memory', async (t) => {
  const before = process.memoryUsage()
  for (let i = 0; i < 1000; i++) {
    const socket = new TestSocket()
    const connection = new ServerConnection(() => {})
    connection.open(socket)
    connection.onMessage(fromHex('000000010100000001000000'), true)
    t.equal(socket.closed?.code, 1002)
  }
  const after = process.memoryUsage()
  t.ok(after.arrayBuffers - before.arrayBuffers < 16 * 1024 * 1024)
})

/** GOAWAY indicating that no call was or will be served. */
const GOAWAY_FROM_ALL = '04000000 08000000 00000000 00000000'.replaceAll(' ', '')

/** Fails calls that a connection returns, like a channel without another connection. */
const GIVES_UP = {
  ...OWNER,
  onUnsent(call: OutgoingCall) {
    call.release()
    call.onLost('unsent', 'the service accepts no more calls')
  },
}

/** A proxy with one connection to a node, whose program leaves calls pending. */
function openProxied(highBytes?: number) {
  const [local, remote] = LinkSocket.pair(highBytes)
  const tracker = createTracker()
  const node = new ServerConnection(tracker.dispatch)
  const client = new ClientConnection(local, GIVES_UP)
  local.receiver = client
  remote.receiver = node
  node.open(remote)
  const caller: Caller = {
    pending: 0,
    call: (call) => client.call(call),
    drain: () => {},
    close: () => {},
  }
  const upstream = new Upstream('helloworld', {
    createPool: createPools().createPool,
    findCaller: () => caller,
  })
  upstream.update([makeService('helloworld', ['127.0.0.1:1'])])
  const dispatch = (call: IncomingCall): void => forwardCall(call, () => upstream)
  return { dispatch, tracker, client, node, remote, active: () => upstream.nodes[0]!.active }
}

t.test('random bytes to a proxy affect neither the node behind it nor other callers', async (t) => {
  let closed = 0
  let forwarded = 0
  let runs = 0
  await fc.assert(
    fc.asyncProperty(input(FROM_CALLER), async (messages) => {
      runs++
      const { dispatch, tracker, client, node, active } = openProxied()
      const otherConnection = {
        socket: new TestSocket(),
        connection: new ServerConnection(dispatch),
      }
      otherConnection.connection.open(otherConnection.socket)
      otherConnection.connection.onMessage(FROM_CALLER[0]!, true)
      const socket = new TestSocket()
      const connection = new ServerConnection(dispatch)
      connection.open(socket)
      for (const message of messages) connection.onMessage(message, true)
      if (connection.closed) closed++
      for (let i = 0; i < 4; i++) await tick()
      check(!client.closed && !node.closed, 'the connection to the node was closed')
      forwarded += tracker.calls.length - 1
      connection.close()
      for (let i = 0; i < 4; i++) await tick()
      check(
        tracker.calls.slice(1).every(({ isSettled }) => isSettled),
        'a call has not ended',
      )
      check(active() === 1, `${active()} calls are counted`)
      tracker.calls[0]!.reply('', 'well')
      for (let i = 0; i < 4; i++) await tick()
      check(otherConnection.connection.pending === 0, 'another caller was affected')
      check(
        otherConnection.socket.takeFrames()[0]?.type === 'REPLY',
        'another caller got no response',
      )
      client.close('')
    }),
    { numRuns: scaleRuns(1000) },
  )
  t.ok(closed > runs / 10 && closed < runs, `${closed} of ${runs} were closed`)
  t.ok(forwarded > scaleRuns(500), `${forwarded} calls`)
  t.equal(deadlines.size, 0)
})

t.test(
  'with random bytes of a node each caller of the proxy gets at most one result',
  async (t) => {
    let closed = 0
    let runs = 0
    await fc.assert(
      fc.asyncProperty(input(FROM_CALLEE), async (messages) => {
        runs++
        const { dispatch, client } = openProxied()
        const [local, remote] = LinkSocket.pair()
        const connection = new ServerConnection(dispatch)
        const caller = new ClientConnection(local, OWNER)
        local.receiver = caller
        remote.receiver = connection
        connection.open(remote)
        const calls = [false, true, true, false, true].map(
          (stream, i) => new RecordedCall({ stream, more: i === 2, timeoutMs: 10_000 }),
        )
        for (const call of calls) caller.call(call)
        for (let i = 0; i < 4; i++) await tick()
        for (const message of messages) client.onMessage(message, true)
        if (client.closed) closed++
        client.close('end of test')
        for (let i = 0; i < 4; i++) await tick()
        check(!caller.closed && !connection.closed, 'the connection to the caller was closed')
        for (const { events } of calls) {
          const finals = events.filter((event) => FINAL.test(event)).length
          check(finals === 1, `${finals} ends: ${events}`)
          check(FINAL.test(events.at(-1)!), `after the end: ${events}`)
        }
        caller.close('')
      }),
      { numRuns: scaleRuns(1000), examples: [[[fromHex(GOAWAY_FROM_ALL)]]] },
    )
    t.ok(closed > runs / 10 && closed < runs, `${closed} of ${runs} were closed`)
    t.equal(deadlines.size, 0)
  },
)

for (const suffix of ['', ' and a proxy between them'])
  t.test(
    `random calls between two endpoints${suffix} violate no rule and lose no body`,
    async (t) => {
      const step = fc.tuple(fc.nat(9), fc.nat(7), fc.nat(9))
      let delivered = 0
      let finished = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 80, maxLength: 150 }),
          fc.constantFrom(200, 5000, 1_000_000),
          async (steps, highBytes) => {
            const [local, remote] = LinkSocket.pair(highBytes)
            const proxied = suffix === '' ? undefined : openProxied(highBytes)
            const tracker = proxied?.tracker ?? createTracker()
            const server = new ServerConnection(proxied?.dispatch ?? tracker.dispatch)
            const client = new ClientConnection(local, OWNER)
            local.receiver = client
            remote.receiver = server
            server.open(remote)
            const calls: RecordedCall[] = []
            const requestNumbers: number[] = []
            const responseNumbers: number[] = []
            for (const [description, endpoint, variant] of steps) {
              const size = [0, 1, 60, 1000, 70_000, 140_000, 300_000][variant % 7]!
              const call = calls[endpoint]
              const served = tracker.calls[endpoint]
              if (description <= 1) {
                requestNumbers.push(0)
                responseNumbers.push(0)
                calls.push(
                  new RecordedCall({
                    stream: variant % 3 > 0,
                    more: variant % 2 > 0,
                    body: '',
                    timeoutMs: 0,
                  }),
                )
                client.call(calls.at(-1)!)
              } else if (
                description === 2 &&
                call?.more &&
                !call.halfClosed &&
                call.carrier !== undefined
              ) {
                if (call.sendData(`${requestNumbers[endpoint]} ${'.'.repeat(size)}`))
                  requestNumbers[endpoint]!++
              } else if (description === 3 && served?.stream && !served.isSettled) {
                if (served.sendData(`${responseNumbers[endpoint]} ${'.'.repeat(size)}`))
                  responseNumbers[endpoint]!++
              } else if (description === 4) call?.consumed(size)
              else if (description === 5) served?.consumed(size)
              else if (description === 6 && variant < 3) call?.cancel()
              else if (description === 6) call?.endData()
              else if (description === 7 && served !== undefined && !served.isSettled) {
                if (variant < 3) served.fail(new GatewayError('s', 500, 'x'))
                else if (responseNumbers[endpoint] === 0) served.reply('', '.'.repeat(size))
                else served.endData()
              } else if (description >= 8) await tick()
            }
            for (let i = 0; i < 100; i++) await tick()
            const isClosed = client.closed || server.closed || proxied?.client.closed
            check(!isClosed && !proxied?.node.closed, 'a connection was closed')
            for (const [i, call] of calls.entries()) {
              const numbers = call.events.filter((event) => event.startsWith('data ')).map(toNumber)
              check(
                numbers.every((n, at) => n === at),
                `out of order: ${numbers}`,
              )
              if (call.events.at(-1) === 'end')
                check(numbers.length === responseNumbers[i], 'bodies were lost')
              delivered += numbers.length
              if (FINAL.test(call.events.at(-1) ?? '')) finished++
            }
            for (const [i, events] of tracker.events.entries()) {
              const numbers = events.filter((event) => event.startsWith('data ')).map(toNumber)
              check(
                numbers.every((n, at) => n === at),
                `out of order: ${numbers}`,
              )
              if (events.includes('end'))
                check(numbers.length === requestNumbers[i], 'bodies were lost')
              delivered += numbers.length
            }
            const running = tracker.calls.filter(({ isSettled }) => !isSettled).length
            check(proxied === undefined || proxied.active() === running, 'nodes are counted wrong')
            client.close('')
            for (let i = 0; i < 4; i++) await tick()
            proxied?.client.close('')
            check(relayMemory.usedBytes === 0, `${relayMemory.usedBytes} bytes are counted`)
          },
        ),
        { numRuns: scaleRuns(300) },
      )
      t.ok(delivered > scaleRuns(500), `${delivered} bodies`)
      t.ok(finished > 100, `${finished} calls`)
    },
  )

function toNumber(event: string): number {
  return Number.parseInt(event.slice(5), 10)
}
