import fc from 'fast-check'
import t from 'tap'
import { createNonce } from '../../../domain/mesh/handshake.ts'
import { MAX_ENTRY_BYTES } from '../../../domain/mesh/limits.ts'
import { formatUpdate, type LinkMessage, readMessage } from '../../../domain/mesh/messages.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

const INTRODUCTION = {
  version: 2,
  network: 'mx',
  id: 'a',
  instance: createNonce(),
  address: '',
  nonce: createNonce(),
}
const ENTRY = JSON.stringify([{ version: 'latest', metadata: {}, endpoints: [] }])
const advertisement = { path: ['b', 'c'], metric: 3, entry: ENTRY }
const toWire = (message: object): unknown => JSON.parse(JSON.stringify(message))

t.test('decodes encoded messages', (t) => {
  const messages: [wire: object, message: LinkMessage][] = [
    [
      { type: 'hello', ...INTRODUCTION },
      { type: 'hello', introduction: INTRODUCTION },
    ],
    [
      { type: 'welcome', ...INTRODUCTION },
      { type: 'welcome', introduction: INTRODUCTION },
    ],
    [
      { type: 'proof', proof: 'p' },
      { type: 'proof', proof: 'p' },
    ],
    [
      { type: 'ping', n: 1 },
      { type: 'ping', n: 1 },
    ],
    [
      { type: 'pong', n: 0 },
      { type: 'pong', n: 0 },
    ],
  ]
  for (const [wire, message] of messages) t.strictSame(readMessage(toWire(wire)), message)
  const routes = [
    { key: 'greeter', advertised: advertisement },
    { key: 'gone', advertised: undefined },
    { key: '@c', advertised: { ...advertisement, entry: '{"address":"","peers":["b"]}' } },
  ]
  t.strictSame(readMessage(toWire({ type: 'routes', routes: routes.map(formatUpdate) })), {
    type: 'routes',
    routes,
  })
  t.end()
})

t.test('rejects an invalid message with the path of the field', (t) => {
  const route = formatUpdate({ key: 'greeter', advertised: advertisement })
  const ofRoute = (change: object) => ({ type: 'routes', routes: [route, { ...route, ...change }] })
  const long = [{ version: 'v', metadata: { a: 'x'.repeat(MAX_ENTRY_BYTES) }, endpoints: [] }]
  const invalid: [message: unknown, text: RegExp][] = [
    [[], /^message must be an object$/],
    [{}, /^type must be hello, welcome, proof, ping, pong or routes, got undefined$/],
    [{ type: 'goodbye' }, /^type must be .*, got "goodbye"$/],
    [{ type: 'hello' }, /^version must be 2, got undefined$/],
    [{ type: 'proof' }, /^proof must be a string$/],
    [{ type: 'ping', n: -1 }, /^n must be a whole number from 0/],
    [{ type: 'pong', n: '1' }, /^n must be a whole number/],
    [{ type: 'routes' }, /^routes must be a list$/],
    [{ type: 'routes', routes: [1] }, /^routes\[0\] must be an object$/],
    [ofRoute({ key: 'a/b' }), /^routes\[1\]\.key must be the name of a service, or @ and the id/],
    [ofRoute({ path: [] }), /^routes\[1\]\.path must be 1 to 8 ids of servers$/],
    [ofRoute({ path: 'b' }), /^routes\[1\]\.path must be 1 to 8 ids/],
    [
      ofRoute({ path: Array.from({ length: 9 }, (_, i) => `n${i}`) }),
      /^routes\[1\]\.path must be 1/,
    ],
    [ofRoute({ path: ['b', 'c', 'b'] }), /^routes\[1\]\.path must not contain a loop$/],
    [ofRoute({ metric: 1.5 }), /^routes\[1\]\.metric must be a whole number from 0 to 16000$/],
    [ofRoute({ metric: 16_001 }), /^routes\[1\]\.metric must/],
    [ofRoute({ entry: [] }), /^routes\[1\]\.entry must be a list of versions$/],
    [ofRoute({ entry: long }), /^routes\[1\]\.entry must be at most 262144 bytes, got 2621\d\d$/],
    [ofRoute({ key: '@b' }), /^routes\[1\]\.path must end at the server b$/],
    [ofRoute({ key: '@c' }), /^routes\[1\]\.entry must be an object$/],
  ]
  for (const [message, text] of invalid)
    t.throws(() => readMessage(message), { name: 'TypeError', message: text }, String(text))
  t.end()
})

t.test('any JSON is decoded or rejected with a short TypeError', (t) => {
  const text = fc.constantFrom('type', 'routes', 'key', 'path', 'metric', 'entry', 'n', '@a', 'a')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom('routes', 'ping', 'hello', 'a', '@a'),
      fc.jsonValue({ maxDepth: 1 }),
      fc.dictionary(text, tie('value'), { maxKeys: 6 }),
      fc.array(tie('value'), { maxLength: 4 }),
    ),
  }))
  fc.assert(
    fc.property(value, (message) => {
      try {
        readMessage(message)
      } catch (error) {
        if (!(error instanceof TypeError) || error.message.length > 1000) throw error
      }
    }),
    { numRuns: scaleRuns(2000) },
  )
  t.end()
})
