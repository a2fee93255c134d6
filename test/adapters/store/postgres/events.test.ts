import t from 'tap'
import { packEvents, unpackEvents } from '../../../../adapters/store/postgres/events.ts'
import type { StoreEvent } from '../../../../core/contracts/store.ts'

const table = { database: 'mx', table: 'users' }
const write = (key: string): StoreEvent => ({ type: 'write', table, key })

t.test('round-trips events in order', async (t) => {
  const events: StoreEvent[] = [
    write('a'),
    { type: 'delete', table: { database: 'é', table: '"' }, key: '\u0001\u{1f600}\\' },
    write('a'),
  ]
  const payloads = packEvents(events)
  t.equal(payloads.length, 1)
  t.same(unpackEvents(payloads[0]!), events)
  t.same(packEvents([]), [])
})

t.test('packs many events into payloads within the NOTIFY limit', async (t) => {
  const long = { database: 'd'.repeat(253), table: 't'.repeat(253) }
  for (const events of [
    Array.from({ length: 5000 }, (_, i) => write(`key ${i}`)),
    Array.from({ length: 50 }, () => write('\u{1f600}'.repeat(256))),
    Array.from({ length: 3 }, () => ({ ...write('\u0001'.repeat(1024)), table: long })),
  ]) {
    const payloads = packEvents(events)
    t.ok(payloads.every((payload) => Buffer.byteLength(payload) < 8000))
    t.same(
      payloads.flatMap((payload) => unpackEvents(payload)!),
      events,
    )
    const bytes = payloads.reduce((sum, payload) => sum + Buffer.byteLength(payload), 0)
    t.ok(payloads.length <= Math.ceil(bytes / 4000), `${payloads.length} payloads`)
  }
})

t.test('returns undefined for payloads of other applications', async (t) => {
  for (const payload of [
    '',
    'hello',
    '{}',
    'null',
    '[1]',
    '[["write","a","b"]]',
    '[["drop","a","b","c"]]',
    '[["write","a","b",1]]',
  ])
    t.equal(unpackEvents(payload), undefined, payload)
})
