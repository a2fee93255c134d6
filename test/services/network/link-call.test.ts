import t from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { MAX_ADVERTISED_BYTES, MAX_LINK_MESSAGE_BYTES } from '../../../domain/mesh/limits.ts'
import { LinkCall, MAX_REASON, ReadAllowance } from '../../../services/network/link-call.ts'

/** A call without a connection, and the events of its receiver. */
function open(onMessage: () => void = () => {}, allowance = new ReadAllowance()) {
  const events: string[] = []
  const call = new LinkCall(
    { type: 'hello' },
    {
      onMessage(message) {
        onMessage()
        events.push(message.type)
      },
      onSettled: ({ code, message }) => events.push(`${code} ${message}`),
    },
    allowance,
  )
  const receive = (text: string): void => call.onData(Buffer.from(text))
  return { call, events, receive }
}

t.test('a link is a stream of Network.Link that begins with hello', (t) => {
  const { call } = open()
  t.match(call, {
    service: 'network',
    endpoint: 'Network.Link',
    body: '{"type":"hello"}',
    stream: true,
    more: true,
    timeoutMs: 0,
  })
  t.end()
})

t.test('reports the end of a link once with its reason', (t) => {
  const ends: [end: (call: LinkCall) => void, event: string][] = [
    [(call) => call.onEnd(), '503 the service ended the stream'],
    [(call) => call.onReply(), '502 the response is not a stream'],
    [(call) => call.onFail(new GatewayError('x', 409, 'no')), '409 no'],
    [(call) => call.onLost('closed', 'connection reset'), '502 connection reset'],
  ]
  for (const [end, event] of ends) {
    const { call, events } = open()
    end(call)
    call.onEnd()
    call.close()
    t.strictSame(events, [event])
    t.ok(call.send({ type: 'ping' }), 'later messages are dropped')
  }
  t.end()
})

t.test('throttles reads from a peer that resends its routes', (t) => {
  let consumed = 0
  const allowance = new ReadAllowance()
  const connect = () => {
    const link = open(undefined, allowance)
    link.call.carrier = {
      sendData: () => true,
      endData: () => {},
      consumed(_call, bytes) {
        consumed += bytes
      },
      cancel: () => {},
      expire: () => {},
    }
    return link
  }
  const { call, events, receive } = connect()
  const message = '{"type":"routes","routes":[]}'.padEnd(MAX_LINK_MESSAGE_BYTES)
  const all = MAX_ADVERTISED_BYTES / MAX_LINK_MESSAGE_BYTES
  for (let count = 0; count < all; count++) receive(message)
  t.equal(consumed, MAX_ADVERTISED_BYTES, 'the first full set of routes is read without delay')
  for (let count = 0; count < all; count++) receive(message)
  t.ok(consumed < 1.5 * MAX_ADVERTISED_BYTES, `${consumed} bytes`)
  t.equal(events.length, 2 * all)
  call.close()
  consumed = 0
  const repeated = connect()
  for (let count = 0; count < all; count++) repeated.receive(message)
  t.equal(consumed, 0, 'reconnecting does not reset the allowance')
  t.end()
})

t.test('a malformed message ends the link with 502', (t) => {
  for (const [text, event] of [
    ['{', /^502 malformed message: /],
    ['{"type":"x"}', /^502 malformed message: type must be/],
    [
      'x'.repeat(MAX_LINK_MESSAGE_BYTES + 1),
      /malformed message: message must be at most 1048576 bytes, got 10/,
    ],
    [JSON.stringify({ type: 'routes', routes: [{ key: 'x'.repeat(9999) }] }), /routes\[0\]\.key/],
  ] as const) {
    const { events, receive } = open()
    receive('{"type":"pong","n":1}')
    receive(text)
    receive('{"type":"pong","n":2}')
    t.equal(events.length, 2)
    t.match(events[1], event)
    t.ok(events[1]!.length < MAX_REASON + 100)
  }
  t.end()
})

t.test(
  'an exception in the receiver ends the link with 502, and a closed link reports nothing',
  (t) => {
    const { events, receive } = open(() => {
      throw new TypeError('invalid state')
    })
    receive('{"type":"pong","n":1}')
    t.strictSame(events, ['502 malformed message: invalid state'])
    const remaining = open()
    remaining.call.close()
    remaining.receive('{"type":"pong","n":1}')
    remaining.call.onEnd()
    t.strictSame(remaining.events, [])
    t.end()
  },
)
