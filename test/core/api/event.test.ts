import t from 'tap'
import { toApiEvent } from '../../../core/api/event.ts'
import { TestExchange } from '../../../sdk/testing.ts'

const NAMED = { name: 'created', id: 'go.mx.api.orders-created-1', timestamp: 1_700_000_000 }

t.test('an event has name, id, timestamp, header and data', (t) => {
  const x = new TestExchange({ headers: { 'content-type': 'a/b' } })
  t.strictSame(JSON.parse(JSON.stringify(toApiEvent(x, NAMED, Buffer.from('{"a":1}')))), {
    ...NAMED,
    header: {
      'Content-Type': { key: 'Content-Type', values: ['a/b'] },
      Host: { key: 'Host', values: ['localhost'] },
    },
    data: '{"a":1}',
  })
  t.end()
})

t.test('data that is not UTF-8 is Base64, with the encoding base64', (t) => {
  const event = toApiEvent(new TestExchange(), NAMED, Uint8Array.of(0xff))
  t.match(event, { data: '/w==', encoding: 'base64' })
  t.end()
})
