import t from 'tap'
import {
  checkEvent,
  checkName,
  checkNumber,
  checkRetries,
  checkStart,
  checkTopic,
  isEventName,
} from '../../../domain/events/checks.ts'

const EVENT = { id: 'id', timestampMs: 5, metadata: {}, payload: new Uint8Array(3) }

t.test('accepts topics, namespaces and groups named like services', (t) => {
  for (const name of ['a', 'orders.v1', 'Orders-2_x', 'x'.repeat(253)])
    t.equal(isEventName(name), true, name)
  for (const name of ['', ' ', '.', 'a..b', '-a', 'a/b', 'a*', 'é', 'x'.repeat(254), 5, undefined])
    t.equal(isEventName(name), false, String(name))
  t.throws(() => checkTopic({ namespace: 'mx', topic: '' }), {
    code: 400,
    message: /^topic must be letters, digits .*, got ""$/,
  })
  t.throws(() => checkTopic({ namespace: '*', topic: 'a' }), { message: /^namespace must be/ })
  t.throws(() => checkName('group', undefined), { message: /^group must be .*, got undefined$/ })
  t.end()
})

t.test('limits the size of an event', (t) => {
  checkEvent(EVENT, 3)
  t.throws(() => checkEvent(EVENT, 2), {
    code: 400,
    message: 'payload must be at most 2 bytes, got 3',
  })
  for (const metadata of [{ a: 'x'.repeat(16 * 1024) }, { a: 5 } as never])
    t.throws(() => checkEvent({ ...EVENT, metadata }, 3), { code: 400, message: /^metadata must/ })
  for (const timestampMs of [-1, 1.5, Number.NaN, 8.64e15 + 1])
    t.throws(() => checkEvent({ ...EVENT, timestampMs }, 3), {
      code: 400,
      message: /^timestampMs must be a whole number/,
    })
  t.end()
})

t.test('accepts a sequence from 1 or a time as start', (t) => {
  for (const start of [{}, { sequence: 1 }, { sinceMs: 0 }, { sequence: 9, sinceMs: 8.64e15 }])
    checkStart(start)
  t.throws(() => checkStart({ sequence: 0 }), { code: 400, message: /^sequence must be/ })
  t.throws(() => checkStart({ sinceMs: -1 }), { code: 400, message: /^sinceMs must be/ })
  t.end()
})

t.test(
  'retryLimit rejects dead-letter topics, too long topic names and invalid values with 400',
  (t) => {
    for (const [topic, limit] of [
      ['a', 0],
      ['a.dead', -1],
      ['x'.repeat(248), 5],
      ['x'.repeat(253), -1],
    ] as const)
      checkRetries({ namespace: 'mx', topic }, limit)
    for (const [topic, limit] of [
      ['a', -2],
      ['a', 1.5],
      ['a.dead', 0],
      ['x'.repeat(249), 5],
    ] as const)
      t.throws(() => checkRetries({ namespace: 'mx', topic }, limit), {
        code: 400,
        message: /^retryLimit must be/,
      })
    t.end()
  },
)

t.test('checks the bounds of a number', (t) => {
  checkNumber('n', 1, 1, 2)
  for (const value of [0, 3, '1', undefined, Number.NaN])
    t.throws(() => checkNumber('n', value, 1, 2), {
      message: /^n must be a whole number from 1 to 2, got /,
    })
  t.end()
})
